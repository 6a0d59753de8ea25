package model

import (
	"log/slog"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
)

// Models holds facts from the harnesses' catalogues and from this host's experience, and is safe for concurrent use.
type Models struct {
	Options
	uses   experience[models.WindowRow]
	lives  experience[route.Learned]
	ratios experience[models.TokenRatioRow]
}

type Options struct {
	Store   *store.Store
	Guard   *store.Guard
	Clients *client.Registry
	Clock   clock.Clock
	Log     *slog.Logger
}

func New(o Options) *Models { return &Models{Options: o} }
