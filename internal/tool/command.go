package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/dream"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/status"
	"github.com/magicctx/magicctx-host/internal/summary"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

var (
	dreamCommand = command{
		dream.Command, "Merge, correct and archive memories of this project. \"--dry-run\" says what it would do, \"cancel\" ends it",
		func(t *Tools, ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
			return t.Dreamer.Execute(ctx, c, key, p)
		},
	}
	flushCommand = command{
		"ctx-flush", "Make the next request apply the waiting drops and show new summaries",
		func(t *Tools, ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
			return t.flush(ctx, c, key, p.Directory)
		},
	}
	recompCommand = command{
		summary.CommandRecomp, "Summarise again what is summarised: all of it, or messages A-B. \"cancel\" ends it",
		func(t *Tools, ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
			return t.History.Recomp(ctx, c, key, p)
		},
	}
	statusCommand = command{
		"ctx-status", "Show how full the window is, what was dropped and summarised, and what the historian does",
		func(t *Tools, ctx context.Context, _ client.Client, key store.Key, _ schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
			return t.Statuses.Describe(ctx, key)
		},
	}
	wrapUpCommand = command{
		summary.CommandWrapUp, "Summarise everything but the newest N turns now. \"cancel\" ends it",
		func(t *Tools, ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
			return t.History.WrapUp(ctx, c, key, p)
		},
	}
)

// The method `flush` makes the next pass bust. It tells the user what the bust would remove and cost if it came now.
func (t *Tools) flush(ctx context.Context, c client.Client, key store.Key, directory string) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return none, err
	}
	defer s.Unlock()
	wasAsked := s.Row.ExplicitFlush
	s.Row.ExplicitFlush = true // for the forecast
	text, isEmpty := "The next request applies the waiting drops. How much that frees is not known: no request of this session has reached the host since it started.", false
	if s.Pipe != nil {
		text, isEmpty = t.forecastFlush(ctx, c, s, directory)
	}
	// A bust that changes nothing would only cost money.
	if isEmpty {
		s.Row.ExplicitFlush = wasAsked
	} else if err := t.Store.RequestFlush(ctx, key, t.Clock.Now()); err != nil {
		s.Row.ExplicitFlush = wasAsked
		t.Guard.Wrote(err)
		return none, err
	}
	t.Statuses.Publish(key)
	return schema.CommandExecuteResult{Title: "magicctx", Variant: "success", Message: text}, nil
}

// forecastFlush describes what a bust would do now, without storing anything. isEmpty means that it would change
// nothing.
func (t *Tools) forecastFlush(ctx context.Context, c client.Client, s *session.Session, directory string) (text string, isEmpty bool) {
	ps, err := t.Passes.Forecast(ctx, c, s, directory)
	if err != nil {
		return "The next request applies the waiting drops.", false // the caller has gone, so the text does not matter
	}
	d, state := ps.Decision, s.Pipe.State
	back, away := 0, 0 // the pieces that the user keeps, and that are not in the prompt
	for _, u := range state.Units() {
		switch {
		case u.Kept == 0:
		case slices.Contains(d.Restored, u.Tag):
			back++
		case !u.IsWhole() && refuseKeeping(s, &u, u.Tag, false) == nil:
			away++
		}
	}
	taken, recourse := status.Taken(ps)
	var acts []string
	if len(d.Edits) > 0 && taken == "" {
		acts = append(acts, "removes what the model does not need")
	}
	if back > 0 {
		acts = append(acts, "brings back "+format.Count(back, "piece")+" that you keep")
	}
	switch {
	case d.Head == nil:
	case d.Fold == pipeline.FoldRefold:
		acts = append(acts, "shows the new summaries")
	case d.Head.Ordinal == state.Head.Ordinal:
		acts = append(acts, "brings memories and promises up to date")
	}
	var texts []string
	if taken != "" {
		texts = append(texts, words.Shortened(string(d.Cause), d.Size.Current, d.Size.Current-d.Price.Removed, " with the next request", taken))
	}
	if n := len(acts); n > 0 {
		texts = append(texts, "The next request "+strings.TrimPrefix(strings.Join(acts[:n-1], ", ")+" and "+acts[n-1], " and ")+".")
	}
	isEmpty = len(texts) == 0
	waiting := len(state.Queue()) - len(d.Drained)
	switch {
	case !isEmpty:
		texts = append(texts, t.costOfBust(ctx, s.Pipe.Model(), d))
	case waiting+away == 0:
		texts = append(texts, nothingToFree+t.History.WrapUpHint(ctx, ps))
	default:
		texts = append(texts, nothingToFree)
	}
	if recourse != "" {
		texts = append(texts, recourse)
	}
	if waiting > 0 {
		texts = append(texts, fmt.Sprintf("Still waiting, because among the newest or still running: %s.", format.Count(waiting, "piece")))
	}
	if away > 0 {
		texts = append(texts, fmt.Sprintf("Not back yet, because there is no room: %s that you keep.", format.Count(away, "piece")))
	}
	return strings.Join(texts, " "), isEmpty
}

const nothingToFree = "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown."

// costOfBust says why the provider rebuilds its cache, and what that costs.
func (t *Tools) costOfBust(ctx context.Context, m schema.Model, d pipeline.Decision) string {
	why := "The cache is rebuilt " + words.Reason(string(d.Cause))
	if d.Cause != pipeline.CauseFlush {
		return why + ", so this " + words.CostsNow(0) + "."
	}
	text := fmt.Sprintf("%s: about %s tokens are sent again", why, format.Tokens(d.Price.Resent))
	if cost := t.Models.Facts(ctx, m).Rewriting(d.Price.Resent); cost != nil {
		text += ", which " + words.CostsNow(*cost)
	}
	return text + "."
}
