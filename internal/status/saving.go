package status

import (
	"context"
	"sync"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// A saving says how many billed tokens magicctx has saved a session. It compares the tokens that were billed with an
// estimate of the bill if magicctx had never removed anything (docs/status.md).
type saving struct {
	// The saving covers the passes up to number `upTo`. For `passes` of them, the usage is known.
	upTo, passes int
	// `dropped` is the number of tokens by which the next prompt would be larger if nothing had ever been
	// removed or summarised.
	dropped int
	// spared is the number of tokens that the requests would have been billed for without magicctx, minus the
	// number that they were billed for. It can be negative, because a bust makes the provider write tokens that
	// it would otherwise have read from its cache.
	spared promptcache.Tokens
	// A bust for rent removes content early, to save money. `early` is the part of `dropped` that such busts have
	// removed since the last bust for any other reason. Without them, these tokens would still be in the prompt.
	// `earlySpared` is the part of `spared` that is due to them.
	early       int
	earlySpared promptcache.Tokens
	sent        promptcache.Tokens
	// The saving was computed with this cliff and window.
	cliff  route.Cliff
	window int
}

// add returns the saving after one more pass. Without magicctx, the prompt could not have grown beyond the window, so
// add does not count tokens beyond the window.
func (v saving) add(p store.BilledPass) saving {
	v.upTo = p.Pass
	if p.BustCause == pipeline.BustTranscript || p.BustCause == string(pipeline.CauseReverted) {
		v.dropped = 0 // messages are gone, perhaps including dropped ones
	}
	v.dropped += p.Removed
	isEarly := p.Cause == string(pipeline.CauseRent)
	if isEarly {
		v.early += p.Removed
	} else if p.Bust {
		v.early = 0
	}
	sent := promptcache.Tokens{Fresh: p.Usage.Input, Write: p.Usage.CacheWrite, Read: p.Usage.CacheRead}
	prompt := sent.Prompt()
	if prompt == 0 {
		return v
	}
	v.passes++
	billed := sent.Billed(v.cliff)
	v.sent = v.sent.Add(billed)
	v.spared = v.spared.Add(v.without(p, sent, v.dropped, p.Bust)).Minus(billed)
	if v.early > 0 {
		v.earlySpared = v.earlySpared.Add(v.without(p, sent, v.early, isEarly)).Minus(billed)
	}
	return v
}

// The method `without` returns the tokens that would have been billed for a request if its prompt still contained the
// dropped tokens. sparesBust means that the request would then not have been a bust. In that case, the provider would
// have read the resent tokens from its cache.
func (v saving) without(p store.BilledPass, sent promptcache.Tokens, dropped int, sparesBust bool) promptcache.Tokens {
	more := max(0, min(dropped, v.window-sent.Prompt()))
	if pipeline.Cause(p.Cause).PrefixWasGone() { // the provider had to write all of the prompt anyway
		sent.Write += more
		return sent.Billed(v.cliff)
	}
	sent.Read += more
	if sparesBust {
		rewritten := min(p.Resent, sent.Fresh+sent.Write)
		sent.Write, sent.Read = sent.Write-rewritten, sent.Read+rewritten
	}
	return sent.Billed(v.cliff)
}

// savings caches the savings of all sessions, so that a status reads only the passes since the previous status.
type savings struct {
	mu    sync.Mutex
	known map[store.Key]saving
}

// savingOf returns the saving of all passes before the newest one. `passes` is the number of the newest pass. savingOf
// leaves this pass out, because its usage may still be unknown.
func (sb *Statuses) savingOf(ctx context.Context, key store.Key, passes, window int, cliff route.Cliff) (saving, error) {
	sb.savings.mu.Lock()
	v := sb.savings.known[key]
	sb.savings.mu.Unlock()
	// If v already covers the newest pass, v belongs to a session that was deleted, and a new session has the
	// same id.
	if v.upTo >= passes || v.window != window || v.cliff != cliff {
		v = saving{window: window, cliff: cliff}
	}
	if v.upTo == passes-1 {
		return v, nil
	}
	// Two statuses may be made at the same time. Both then read the same rows and get the same result, so no
	// lock is held here.
	rows, err := sb.Store.Reports.BilledPasses(ctx, key, v.upTo, passes)
	if err != nil {
		return v, err
	}
	for _, row := range rows {
		v = v.add(row)
	}
	sb.savings.mu.Lock()
	sb.savings.known[key] = v
	sb.savings.mu.Unlock()
	return v, nil
}

// savedIn returns the money that a session's requests have saved, minus the cost of its historian. Before the
// first measured request, it returns nil. Both the status and a replay take the figure from savedIn.
func (sb *Statuses) savedIn(ctx context.Context, key store.Key, passes int, f model.Facts, w model.Window, cliff route.Cliff) (*schema.Saving, error) {
	v, err := sb.savingOf(ctx, key, passes, w.Limit(), cliff)
	if err != nil || v.passes == 0 {
		return nil, err
	}
	cost, err := sb.Store.Calls.Cost(ctx, store.HistorianOf(key))
	if err != nil {
		return nil, err
	}
	historian := float64(cost) / chronicle.Dollar
	return &schema.Saving{
		Money: promptcache.Bill(v.spared, f.Price) - historian, Historian: historian,
		Early: promptcache.Bill(v.earlySpared, f.Price), Spent: promptcache.Bill(v.sent, f.Price) + historian, Passes: v.passes,
	}, nil
}

// saved returns nil if no session's model has a price.
func (sb *Statuses) saved(ctx context.Context) (*schema.Saving, error) {
	all, err := sb.Store.Reports.Totals(ctx)
	if err != nil {
		return nil, err
	}
	facts := make(map[schema.Model]model.Facts)
	var sum schema.Saving
	isPriced := false
	for _, s := range all {
		m := schema.Model{Provider: s.Provider, ID: s.Model}
		f, ok := facts[m]
		if !ok {
			f = sb.Models.Facts(ctx, m)
			facts[m] = f
		}
		if !f.IsPriced {
			sum.UnpricedSessions++
			continue
		}
		v, err := sb.savedIn(ctx, s.Key, s.Passes, f, sb.Models.Window(ctx, m, s.LimitTokens), model.CliffOf(sb.Clients.KnownConfig(schema.Harness(s.Key.Harness), s.Directory), m))
		if err != nil {
			return nil, err
		}
		isPriced = true
		if v != nil {
			sum.Money, sum.Historian, sum.Early, sum.Passes = sum.Money+v.Money, sum.Historian+v.Historian, sum.Early+v.Early, sum.Passes+v.Passes
			sum.Spent += v.Spent
		}
	}
	if !isPriced {
		return nil, nil
	}
	return &sum, nil
}
