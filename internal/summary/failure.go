package summary

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

// After a failed run, the next chunk is shorter, the next run comes later, and the user may get a notice.

// The chunk of a failing historian is halved at most three times, so the smallest chunk is an eighth of the usual one.
const maxHalvings = 3

// nextHalving returns how often the next chunk is halved: once more than before if a shorter chunk may help the model,
// but at most maxHalvings times.
func nextHalving(halvings int, r *historian.Result) int {
	if !r.ShorterMayHelp() {
		return halvings
	}
	return min(halvings+1, maxHalvings)
}

// errOverBudget ends a run that asked no model, because the budget of the day is used up. The run does not count as
// failed. The status says when a model will be asked again.
var errOverBudget = errors.New("the budget of the day is used up")

// isOverBudget reports whether the budget prevented the last question of a run.
func isOverBudget(r historian.Result) bool {
	return len(r.Attempts) > 0 && r.Attempts[len(r.Attempts)-1].Kind == ask.OverBudget
}

func (h *Historian) recordFailure(ctx context.Context, s *session.Session, p *run, result historian.Result, reason error) {
	h.Log.Warn("the historian has failed", "session", p.key.Session, "pass", p.facts.pass, "cause", p.reason, "error", reason)
	stateOf(s).throttle = p.failed(stateOf(s).throttle, result)
	if err := h.saveThrottle(ctx, s); err != nil {
		h.Log.Warn("the historian's pace is not stored", "session", p.key.Session, "error", err)
	}
	run := runRow(p, result)
	run.Status, run.Reason = work.Failed, reason.Error()
	isAborted := ask.Classify(reason) == ask.Aborted && !errors.Is(reason, errRescued)
	if errors.Is(reason, work.ErrStale) || errors.Is(reason, errOverBudget) || isAborted {
		run.Status = work.Noop
	}
	if err := h.Store.Runs.Record(ctx, store.HistorianOf(p.key), run, int64(stateOf(s).throttle.RetryPass(p.demand))); err != nil {
		h.Log.Warn("a run of the historian is not recorded", "session", p.key.Session, "error", err)
	}
}

func (p *run) failed(t history.Throttle, r historian.Result) history.Throttle {
	used := r.Usage()
	return t.Failed(p.facts.pass, p.grant, used.Input+used.CacheRead+used.CacheWrite, cost(p.facts.price, r))
}

func (h *Historian) loadThrottle(ctx context.Context, s *session.Session) error {
	if stateOf(s).isLoaded {
		return nil
	}
	known, err := h.Store.Runs.State(ctx, store.HistorianOf(s.Key))
	if err != nil {
		return err
	}
	if known.Throttle != "" {
		_ = json.Unmarshal([]byte(known.Throttle), &stateOf(s).throttle) // a throttle that another release wrote may be unreadable; then it starts from zero
	}
	stateOf(s).isLoaded = true
	return nil
}

func (h *Historian) saveThrottle(ctx context.Context, s *session.Session) error {
	state, _ := json.Marshal(stateOf(s).throttle) // numbers can always be encoded
	writing, cancel := h.Guard.Writing(ctx)
	defer cancel()
	return h.Store.Runs.SaveThrottle(writing, store.HistorianOf(s.Key), string(state))
}

// maxCause bounds the reason in a notice, in bytes.
const maxCause = 1 << 10

// The user gets a notice after two failures in a row, because a single failure often goes away.
const toldAfter = 2

func (h *Historian) tellOfFailure(ctx context.Context, p *run) {
	if !slices.Contains(p.facts.config.Notices, notice.Troubles) {
		return
	}
	known, err := h.Store.Runs.State(ctx, store.HistorianOf(p.key))
	if err != nil || known.Failures != toldAfter {
		return
	}
	c, directory, cause := p.facts.client, p.facts.directory, format.Shorten(format.Clean(known.LastError), maxCause)
	h.Background.Go(func() {
		h.Notices.Show(c, p.key, directory, "warning",
			fmt.Sprintf("The historian has failed twice in a row, so old messages are not summarised well: %s. It tries again by itself. /ctx-status shows its state.", cause))
	})
}
