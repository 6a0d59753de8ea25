package learn

import (
	"context"
	"log/slog"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/store"
)

type Learner struct{ Options }

type Options struct {
	Store    *store.Store
	Guard    *store.Guard
	Sessions *session.Sessions
	Models   *model.Models
	Clients  *client.Registry
	Clock    clock.Clock
	Log      *slog.Logger
}

func New(o Options) *Learner { return &Learner{o} }

func (l *Learner) Feature() pass.Feature {
	return pass.Feature{
		Begun: func(ctx context.Context, ps *pass.Pass) {
			noteRereads(ps.Session)
			if usage, _, ok := ps.Session.Pipe.Answer(); ok { // if the event with this usage was lost, the pass still finds the usage here
				writing, cancel := l.Guard.Writing(ctx)
				l.Guard.Wrote(l.NotePause(writing, ps.Session, ps.Session.Pipe.Meta.Model, usage))
				cancel()
			}
			*pauses.Of(ps.Session) = nil
			l.Guard.Wrote(l.learnRatio(ctx, ps.Session))
		},
		Read: func(ctx context.Context, ps *pass.Pass, r *pipeline.Readings) {
			r.Knobs.IsRegretted = l.IsRegretted(ctx, ps)
		},
		Storing: func(ps *pass.Pass, c *store.PassCommit) {
			c.Removals, c.Rereads, c.RereadSince = removals(ps), regrets.Of(ps.Session).rereads, c.Session.Passes-pipeline.SoonPasses
		},
		Stored: func(ps *pass.Pass) {
			if len(regrets.Of(ps.Session).rereads) > 0 {
				*regrets.Of(ps.Session) = regret{}
			}
			*pauses.Of(ps.Session) = l.pauseBefore(ps)
			if ps.SystemChanged { // the provider cannot have cached a changed prompt
				*pauses.Of(ps.Session) = nil
			}
			if ps.Wire.Bust {
				*samplings.Of(ps.Session) = sampling{answered: ps.Session.Pipe.Measured()}
			}
		},
	}
}

// PromptChanged is called when the harness has changed the system prompt after a pass. The provider cannot have cached
// the new prompt, so a missing cache read does not prove that the prefix expired in the pause before the pass.
// PromptChanged therefore forgets this pause.
func PromptChanged(s *session.Session) { *pauses.Of(s) = nil }
