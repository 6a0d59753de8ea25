package budget

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A Ledger books the questions of the hidden agents.
type Ledger struct{ Options }

// Options configure a Ledger.
type Options struct {
	Store   *store.Store
	Models  *model.Models
	Clients *client.Registry
	Log     *slog.Logger
}

// New returns a ledger.
func New(o Options) *Ledger { return &Ledger{o} }

// bookTimeout bounds the wait for the database. It is long, because nobody waits for the write.
const bookTimeout = 30 * time.Second

// Book implements agent.Ledger. It leaves out a question that no model has read.
func (l *Ledger) Book(ctx context.Context, a agent.Asker, q ask.Request, answer ask.Answer, asked error) {
	used := answer.Usage
	switch {
	case asked == nil:
		used = used.OrCounted(q, answer.Text)
	case ask.Classify(asked) == ask.TimedOut && used == ask.Usage{}: // the model has probably read the prompt
		used.Input = q.Tokens()
	}
	if used == (ask.Usage{}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, bookTimeout)
	defer cancel()
	name := answer.Model
	if _, _, isNamed := ask.Split(name); !isNamed {
		name = q.Model
	}
	err := l.Store.Calls.Record(ctx, a.Lease.Work, a.Lease.Holder, chronicle.Call{
		Directory: a.Directory, Model: name, Input: used.Input, Output: used.Output, CacheRead: used.CacheRead, CacheWrite: used.CacheWrite,
		Cost: l.cost(ctx, l.Clients.Config(string(a.Harness), a.Directory), name, used),
	})
	if err != nil {
		l.Log.Warn("a question of an agent is not booked", "session", a.Session, "agent", q.Agent, "error", err)
	}
}

// cost returns the cost of a question, or nil if the harness names no price for the model.
func (l *Ledger) cost(ctx context.Context, cfg schema.Config, name string, used ask.Usage) *int64 {
	provider, id, _ := ask.Split(name)
	m := schema.Model{Provider: provider, ID: id}
	facts := l.Models.Facts(ctx, m)
	if !facts.IsPriced {
		return nil
	}
	tokens := promptcache.Tokens{Fresh: used.Input, Write: used.CacheWrite, Read: used.CacheRead, Output: used.Output}
	cost := int64(math.Ceil(promptcache.Bill(tokens.Billed(model.CliffOf(cfg, m)), facts.Price) * chronicle.Dollar))
	return &cost
}
