package tool

import (
	"context"
	"fmt"

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

// forecastFlush asks the pipeline for the decision of the next bust, but does not keep it.
func (t *Tools) forecastFlush(ctx context.Context, c client.Client, s *session.Session, directory string) string {
	ps, err := t.Passes.Forecast(ctx, c, s, directory)
	if err != nil {
		return "The next request applies the waiting drops." // the caller has gone, so the text does not matter
	}
	d := ps.Decision
	waiting := len(s.Pipe.State.Queue()) - len(d.Drained)
	text := t.costOfBust(ctx, s.Pipe.Model(), d)
	switch {
	case d.Head != nil && len(d.Edits) == 0:
		text = "The next request shows the new summaries. " + text
	case d.Head != nil:
		text = "The next request applies the waiting drops and shows the new summaries. " + text
	case d.Price.Removed > 0:
		text = "The next request applies the waiting drops. " + text
	}
	if d.Price.Removed <= 0 && d.Head == nil && waiting == 0 {
		text += t.History.WrapUpHint(ctx, ps)
	}
	if waiting > 0 {
		text += fmt.Sprintf(" Still waiting, because among the newest or still running: %s.", format.Count(waiting, "piece"))
	}
	return text
}

func (t *Tools) costOfBust(ctx context.Context, m schema.Model, d pipeline.Decision) string {
	switch {
	case d.Price.Removed <= 0 && d.Head == nil:
		return "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown."
	case d.Cause != pipeline.CauseFlush && d.Price.Removed > 0:
		return fmt.Sprintf("It frees about %s tokens and costs nothing: the cached prefix is gone anyway.", format.Tokens(d.Price.Removed))
	case d.Cause != pipeline.CauseFlush:
		return "It costs nothing: the cached prefix is gone anyway."
	}
	text := fmt.Sprintf("It frees about %s tokens and sends about %s again", format.Tokens(max(0, d.Price.Removed)), format.Tokens(d.Price.Resent))
	if cost := t.Models.Facts(ctx, m).Rewriting(d.Price.Resent); cost != nil {
		text += ", which costs " + format.AboutDollars(*cost)
	}
	return text + "."
}
