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
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// A Governor's methods are safe for concurrent use.
type Governor struct {
	Options
	// mu guards stops, which contains the newest refusal of each work by a budget. The key is the work's Work.String.
	// stops is nil until the refusals have been read from the store.
	mu    sync.Mutex
	stops map[string]schema.BudgetStop
}

type Options struct {
	Store   *store.Store
	Models  *model.Models
	Clients *client.Registry
	Clock   clock.Clock
	Log     *slog.Logger
	Zone    *time.Location
	// A replay sets Unlimited, because recorded answers cost nothing.
	Unlimited bool
}

func New(o Options) *Governor {
	return &Governor{Options: o}
}

// writeTimeout bounds the wait for the database. It is long, because no user waits for the write.
const writeTimeout = 30 * time.Second

// readTimeout bounds the read of the stored refusals. It is short, because a user waits for the status.
const readTimeout = time.Second

func (g *Governor) Begin(ctx context.Context, a agent.Asker, q ask.Request, steps int) (settle func(agent.End), err error) {
	cfg := g.Clients.Config(string(a.Harness), a.Directory)
	needs := g.Worst(ctx, cfg, q, steps)
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
		return nil, &ask.Error{Kind: ask.OverBudget, Err: errors.New(g.stop(writing, a.Lease.Work, over, tomorrow))}
	}
	if errors.Is(err, work.ErrLeaseLost) {
		return nil, &ask.Error{Kind: ask.Aborted, Err: err}
	}
	if err != nil {
		return nil, &ask.Error{Kind: ask.Other, Err: err}
	}
	g.mu.Lock()
	delete(g.known(), a.Lease.Work.String())
	g.mu.Unlock()
	return func(end agent.End) {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		if err := g.settle(writing, cfg, id, q, steps, end); err != nil {
			g.Log.Warn("a question of an agent is not booked, and counts with its worst case", "session", a.Session, "agent", q.Agent, "error", err)
		}
	}, nil
}

// settle replaces a question's reserved cost by its real cost. If the question was cut off in the middle of a step, the
// usage of this step is unknown, so settle adds the worst case of one step. If the harness may still be working on the
// question, the reserved cost stays.
func (g *Governor) settle(ctx context.Context, cfg schema.Config, id int64, q ask.Request, steps int, end agent.End) error {
	if end.IsUnknown {
		return nil
	}
	used := end.Usage.Bounded()
	if end.Err == nil {
		used = used.OrCounted(q, end.Text)
	}
	c := chronicle.Call{Model: end.Model, Input: used.Input, Output: used.Output, CacheRead: used.CacheRead, CacheWrite: used.CacheWrite}
	if _, _, isNamed := ask.Split(c.Model); !isNamed {
		c.Model = q.Model
	}
	money, isPriced := g.price(ctx, cfg, c.Model, used)
	counted := work.Spent{Money: money, Tokens: int64(used.Input + used.Output + used.CacheRead + used.CacheWrite)}
	if isCutOff(end.Err) {
		q.Model = c.Model
		before, after := g.Worst(ctx, cfg, q, end.Steps), g.Worst(ctx, cfg, q, min(end.Steps+1, steps))
		counted.Money += after.Money - before.Money
		counted.Tokens += after.Tokens - before.Tokens
		c.Reserved = counted.Money
	} else if isPriced {
		c.Cost = &money
	}
	return g.Store.Calls.Settle(ctx, id, c, counted)
}

func isCutOff(err error) bool {
	kind := ask.Classify(err)
	return kind == ask.TimedOut || kind == ask.Aborted
}

func (g *Governor) day() (today, tomorrow time.Time) {
	year, month, day := time.UnixMilli(g.Clock.Now()).In(g.Zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, g.Zone), time.Date(year, month, day+1, 0, 0, 0, 0, g.Zone)
}

// meanDays is the number of days over which a budget averages the cost of the prompts.
const meanDays = 7

// caps returns two caps for a work. The first one limits all agents together. If the work is the historian's, the
// second one limits only the historian. Otherwise, it limits all agents except the historian.
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
	all := work.Cap{Money: int64(cfg.Budget.Money * chronicle.Dollar), Tokens: int64(cfg.Budget.Tokens), Since: today.UnixMilli()}
	own := work.Cap{Agents: work.Others, Tokens: int64(cfg.Budget.Others.Tokens), Since: all.Since}
	percent, atLeast, atMost := cfg.Budget.Others.Percent, cfg.Budget.Others.AtLeast, cfg.Budget.Others.AtMost
	if w.Agent == work.Historian {
		own.Agents, own.Tokens = work.Historian, int64(cfg.Budget.Historian.Tokens)
		percent, atLeast, atMost = cfg.Budget.Historian.Percent, cfg.Budget.Historian.AtLeast, cfg.Budget.Historian.AtMost
	}
	own.Money = int64(min(max(percent/100*float64(week)/meanDays, atLeast*chronicle.Dollar), atMost*chronicle.Dollar))
	return []work.Cap{all, own}, nil
}

func (g *Governor) stop(ctx context.Context, of work.Work, over *work.OverBudget, tomorrow time.Time) string {
	s := schema.BudgetStop{
		Agents: over.Cap.Agents, Until: tomorrow.UnixMilli(), Money: float64(over.Cap.Money) / chronicle.Dollar, SpentMoney: float64(over.Spent.Money) / chronicle.Dollar,
		NeedsMoney: float64(over.Needs.Money) / chronicle.Dollar, Tokens: int(over.Cap.Tokens), SpentTokens: int(over.Spent.Tokens), NeedsTokens: int(over.Needs.Tokens),
	}
	g.mu.Lock()
	g.known()[of.String()] = s
	g.mu.Unlock()
	text, _ := json.Marshal(s) // numbers can always be encoded
	if err := g.Store.Calls.SetStopped(ctx, of, string(text)); err != nil {
		g.Log.Warn("after a restart, the status will not say that the budget has ended", "work", of, "error", err)
	}
	if over.Cap.Money == 0 || over.Cap.Tokens == 0 || over.Needs.Money > over.Cap.Money || over.Needs.Tokens > over.Cap.Tokens {
		return fmt.Sprintf("the budget of the day (%s, %s tokens) does not pay for any such call, which may need %s and %s tokens",
			format.Money(s.Money), format.Tokens(s.Tokens), format.Money(s.NeedsMoney), format.Tokens(s.NeedsTokens))
	}
	return fmt.Sprintf("the budget of the day does not pay for another call; it goes on at %s", tomorrow.Format("15:04 on 2 January"))
}

// If a budget has refused this work today, Stopped returns the refusal. Otherwise, it returns nil.
func (g *Governor) Stopped(of work.Work) *schema.BudgetStop {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s, ok := g.known()[of.String()]; ok && g.Clock.Now() < s.Until {
		return &s
	}
	return nil
}

// The method `known` returns the refusals. Its first call reads them from the store, because an earlier host may have
// refused work today. The caller holds g.mu.
func (g *Governor) known() map[string]schema.BudgetStop {
	if g.stops != nil {
		return g.stops
	}
	g.stops = make(map[string]schema.BudgetStop)
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	stored, err := g.Store.Calls.Stopped(ctx)
	if err != nil {
		g.Log.Warn("the status does not say where the budget has ended", "error", err)
	}
	for of, text := range stored {
		var s schema.BudgetStop
		if json.Unmarshal([]byte(text), &s) == nil { // another release may have stored something else
			g.stops[of] = s
		}
	}
	return g.stops
}
