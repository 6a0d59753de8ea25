package notice

import (
	"context"
	"log/slog"
	"time"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// These are the values of the key "notices".
const (
	Busts    = "busts"
	Troubles = "troubles"
)

// Notices are the messages that the user gets without asking.
type Notices struct {
	Background *background.Work
	Log        *slog.Logger
}

// New returns the notices of a host.
func New(work *background.Work, log *slog.Logger) *Notices {
	return &Notices{work, log}
}

// Show shows a notice in the harness, and waits until the harness has accepted it.
func (n *Notices) Show(c client.Client, key store.Key, directory, variant, message string) {
	ctx, cancel := context.WithTimeout(n.Background.Lifetime(), noticeTimeout)
	defer cancel()
	err := c.Show(ctx, schema.NotifyShowParams{Directory: directory, Title: "magicctx", Message: message, Variant: variant})
	if err != nil {
		n.Log.Info("notice not shown", "session", key.Session, "cause", err)
	}
}

// noticeTimeout bounds the wait for a harness to show a notice.
const noticeTimeout = 5 * time.Second
