package budget

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// A Governor bounds and books the questions of the hidden agents. Its methods are safe for concurrent use.
type Governor struct {
	Options
	// mu guards stops: for each subject, the refusal of its newest question. It has no entry if that was not refused.
	mu    sync.Mutex
	stops map[work.Subject]schema.BudgetStop
}

// Options configure a Governor.
type Options struct {
	Store   *store.Store
	Models  *model.Models
	Clients *client.Registry
	Clock   clock.Clock
	Log     *slog.Logger
	// Zone is the zone whose days have budgets.
	Zone *time.Location
	// Unlimited switches the budgets off. A replay asks its questions again as they were recorded.
	Unlimited bool
}

// New returns a governor.
func New(o Options) *Governor {
	return &Governor{Options: o, stops: make(map[work.Subject]schema.BudgetStop)}
}

// writeTimeout bounds the wait for the database. It is long, because no user waits for the write.
const writeTimeout = 30 * time.Second

// Begin implements agent.Ledger.
func (g *Governor) Begin(ctx context.Context, a agent.Asker, q ask.Request, steps int) (settle func(ask.Answer, error), err error) {
	cfg := g.Clients.Config(string(a.Harness), a.Directory)
	needs := g.worst(ctx, cfg, q, steps)
	today, tomorrow := g.day()
	var caps []work.Cap
	if !g.Unlimited {
		if caps, err = g.caps(ctx, cfg, a.Lease.Work, today); err != nil {
			return nil, &ask.Error{Kind: ask.Other, Err: err}
		}
	}
	writing, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	id, err := g.Store.Calls.Reserve(writing, a.Lease.Work, a.Lease.Holder, chronicle.Call{Directory: a.Directory, Model: q.Model}, needs, caps)
	if over, isOver := errors.AsType[*work.OverBudget](err); isOver {
		return nil, &ask.Error{Kind: ask.OverBudget, Err: errors.New(g.stop(a.Lease.Work.Subject, over, tomorrow))}
	}
	if errors.Is(err, work.ErrLeaseLost) {
		return nil, &ask.Error{Kind: ask.Aborted, Err: err}
	}
	if err != nil {
		return nil, &ask.Error{Kind: ask.Other, Err: err}
	}
	g.mu.Lock()
	delete(g.stops, a.Lease.Work.Subject)
	g.mu.Unlock()
	return func(answer ask.Answer, asked error) {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		if err := g.settle(writing, cfg, id, q, answer, asked); err != nil {
			g.Log.Warn("a question of an agent is not booked, and counts with its worst case", "session", a.Session, "agent", q.Agent, "error", err)
		}
	}, nil
}

// settle books the real cost of a question. If nobody knows how much a model has read and written, because the harness
// did not answer, the question stays at its worst case.
func (g *Governor) settle(ctx context.Context, cfg schema.Config, id int64, q ask.Request, answer ask.Answer, asked error) error {
	used := answer.Usage
	if asked == nil {
		used = used.OrCounted(q, answer.Text)
	} else if kind := ask.Classify(asked); kind == ask.TimedOut || kind == ask.Aborted {
		return nil
	}
	c := chronicle.Call{Model: answer.Model, Input: used.Input, Output: used.Output, CacheRead: used.CacheRead, CacheWrite: used.CacheWrite}
	if _, _, isNamed := ask.Split(c.Model); !isNamed {
		c.Model = q.Model
	}
	money, isPriced := g.price(ctx, cfg, c.Model, used)
	if isPriced {
		c.Cost = &money
	}
	return g.Store.Calls.Settle(ctx, id, c, work.Spent{Money: money, Tokens: int64(used.Input + used.Output + used.CacheRead + used.CacheWrite)})
}

// day returns the times at which the present day began, and at which the next one begins.
func (g *Governor) day() (today, tomorrow time.Time) {
	year, month, day := time.UnixMilli(g.Clock.Now()).In(g.Zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, g.Zone), time.Date(year, month, day+1, 0, 0, 0, 0, g.Zone)
}

// meanDays is the number of days whose prompts decide the budget of a day.
const meanDays = 7

// caps returns the caps of a day: of all agents together, and of the agent that works.
func (g *Governor) caps(ctx context.Context, cfg schema.Config, w work.Work, today time.Time) ([]work.Cap, error) {
	prompts, err := g.Store.Calls.Prompts(ctx, w.Subject, today.AddDate(0, 0, -meanDays).UnixMilli())
	if err != nil {
		return nil, err
	}
	var week int64
	for _, p := range prompts {
		money, _ := g.price(ctx, cfg, p.Provider+"/"+p.Model, ask.Usage{Input: p.Input, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite})
		week += money
	}
	b, since := cfg.Budget, today.UnixMilli()
	share := b.Percent / 100 * float64(week) / meanDays
	caps := []work.Cap{{Money: int64(min(max(share, b.AtLeast*chronicle.Dollar), b.AtMost*chronicle.Dollar)), Tokens: int64(b.Tokens), Since: since}}
	if w.Agent == store.HistorianOf(store.Key{}).Agent {
		caps = append(caps, work.Cap{Agent: w.Agent, Money: int64(cfg.Budget.Historian.Money * chronicle.Dollar), Tokens: int64(cfg.Budget.Historian.Tokens), Since: since})
	}
	return caps, nil
}

// stop remembers a refusal for the status, and describes it in a sentence.
func (g *Governor) stop(of work.Subject, over *work.OverBudget, tomorrow time.Time) string {
	s := schema.BudgetStop{
		Agent: over.Cap.Agent, Until: tomorrow.UnixMilli(), Money: float64(over.Cap.Money) / chronicle.Dollar, SpentMoney: float64(over.Spent.Money) / chronicle.Dollar,
		NeedsMoney: float64(over.Needs.Money) / chronicle.Dollar, Tokens: int(over.Cap.Tokens), SpentTokens: int(over.Spent.Tokens), NeedsTokens: int(over.Needs.Tokens),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stops[of] = s
	return fmt.Sprintf("the budget of the day does not pay for another call; it goes on at %s", tomorrow.Format("15:04 on 2 January"))
}

// Stopped returns the refusal because of which no agent works on a subject until tomorrow, or nil.
func (g *Governor) Stopped(of work.Subject) *schema.BudgetStop {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, ok := g.stops[of]; ok && g.Clock.Now() < s.Until {
		return &s
	}
	return nil
}
