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
	"github.com/magicctx/magicctx-host/internal/summary"
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

// flush makes the next pass bust, and describes the bust that would come now.
func (t *Tools) flush(ctx context.Context, c client.Client, key store.Key, directory string) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return none, err
	}
	defer s.Unlock()
	if err := t.Store.RequestFlush(ctx, key, t.Clock.Now()); err != nil {
		t.Guard.Wrote(err)
		return none, err
	}
	s.Row.ExplicitFlush = true
	t.Statuses.Publish(key)
	text := "The next request applies the waiting drops. How much that frees is not known: no request of this session has reached the host since it started."
	if s.Pipe != nil {
		text = t.forecastFlush(ctx, c, s, directory)
	}
	return schema.CommandExecuteResult{Title: "magicctx", Variant: "success", Message: text}, nil
}

// forecastFlush describes the bust that would come now. It stores nothing.
func (t *Tools) forecastFlush(ctx context.Context, c client.Client, s *session.Session, directory string) string {
	ps, err := t.Passes.Forecast(ctx, c, s, directory)
	if err != nil {
		return "The next request applies the waiting drops." // the caller has gone, so the text does not matter
	}
	d, state := ps.Decision, s.Pipe.State
	var acts []string
	if len(d.Edits) > 0 {
		acts = append(acts, "applies the waiting drops")
	}
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
	if back > 0 {
		acts = append(acts, "brings back "+format.Count(back, "piece")+" that you keep")
	}
	switch {
	case d.Head == nil:
	case d.Head.Ordinal > state.Head.Ordinal || d.Fold == pipeline.FoldRefold:
		acts = append(acts, "shows the new summaries")
	default:
		acts = append(acts, "brings memories and promises up to date")
	}
	waiting := len(state.Queue()) - len(d.Drained)
	text := nothingToFree
	if n := len(acts); n > 0 {
		text = "The next request " + strings.TrimPrefix(strings.Join(acts[:n-1], ", ")+" and "+acts[n-1], " and ") + ". " + t.costOfBust(ctx, s.Pipe.Model(), d)
	} else if waiting+away == 0 {
		text += t.History.WrapUpHint(ctx, ps)
	}
	if waiting > 0 {
		text += fmt.Sprintf(" Still waiting, because among the newest or still running: %s.", format.Count(waiting, "piece"))
	}
	if away > 0 {
		text += fmt.Sprintf(" Not back yet, because there is no room: %s that you keep.", format.Count(away, "piece"))
	}
	return text
}

const nothingToFree = "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown."

// costOfBust describes how much a requested bust would free, and its cost.
func (t *Tools) costOfBust(ctx context.Context, m schema.Model, d pipeline.Decision) string {
	switch {
	case d.Cause != pipeline.CauseFlush && d.Price.Removed > 0:
		return fmt.Sprintf("It frees about %s tokens and costs nothing: the cached prefix is gone anyway.", format.Tokens(d.Price.Removed))
	case d.Cause != pipeline.CauseFlush:
		return "It costs nothing: the cached prefix is gone anyway."
	}
	text := fmt.Sprintf("It sends about %s tokens again", format.Tokens(d.Price.Resent))
	if d.Price.Removed > 0 {
		text = fmt.Sprintf("It frees about %s tokens and sends about %s again", format.Tokens(d.Price.Removed), format.Tokens(d.Price.Resent))
	}
	if cost := t.Models.Facts(ctx, m).Rewriting(d.Price.Resent); cost != nil {
		text += ", which costs " + format.AboutDollars(*cost)
	}
	return text + "."
}
