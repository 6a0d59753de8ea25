package model

import (
	"log/slog"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
)

// Models holds the facts about the models in use, both from the harnesses' catalogues and from this host's
// own experience. Its methods are safe for concurrent use.
type Models struct {
	Options
	// uses, lives and ratios cache the experience with models.
	uses   experience[models.WindowRow]
	lives  experience[route.Learned]
	ratios experience[models.TokenRatioRow]
}

// Options configure Models.
type Options struct {
	Store   *store.Store
	Guard   *store.Guard
	Clients *client.Registry
	Clock   clock.Clock
	Log     *slog.Logger
}

// New returns the models of a host.
func New(o Options) *Models { return &Models{Options: o} }
