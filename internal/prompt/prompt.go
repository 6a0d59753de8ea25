package prompt

import (
	"context"
	"log/slog"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/store"
)

type Prompts struct{ Options }

type Options struct {
	Store    *store.Store
	Guard    *store.Guard
	Sessions *session.Sessions
	Models   *model.Models
	Clients  *client.Registry
	Clock    clock.Clock
	Log      *slog.Logger
}

func New(o Options) *Prompts { return &Prompts{o} }

func (pr *Prompts) Feature() pass.Feature {
	return pass.Feature{
		Copied: pr.copyNudge,
		Decided: func(ctx context.Context, ps *pass.Pass) {
			pr.augment(ps)
			pr.nudge(ctx, ps)
			pr.tellReady(ctx, ps)
		},
		Storing: func(ps *pass.Pass, c *store.PassCommit) {
			if r := reminders.Of(ps.Session); r.isNew {
				c.Nudge = r.row
			}
			c.NotesTold = *told.Of(ps.Session)
		},
		Stored: func(ps *pass.Pass) { reminders.Of(ps.Session).isNew, *told.Of(ps.Session) = false, nil },
	}
}
