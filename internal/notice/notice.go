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

const (
	Busts    = "busts"
	Troubles = "troubles"
)

// Notices are the messages that the user gets without asking.
type Notices struct {
	Background *background.Work
	Log        *slog.Logger
}

func New(work *background.Work, log *slog.Logger) *Notices {
	return &Notices{work, log}
}

// Show waits until the harness has accepted the notice.
func (n *Notices) Show(c client.Client, key store.Key, directory, variant, message string) {
	ctx, cancel := context.WithTimeout(n.Background.Lifetime(), noticeTimeout)
	defer cancel()
	err := c.Show(ctx, schema.NotifyShowParams{Directory: directory, Title: "magicctx", Message: message, Variant: variant})
	if err != nil {
		n.Log.Info("notice not shown", "session", key.Session, "cause", err)
	}
}

const noticeTimeout = 5 * time.Second
