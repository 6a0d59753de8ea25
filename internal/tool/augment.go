package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
)

var augmentCommand = command{
	"ctx-aug", "Look for WORDS in earlier messages of this project, and give what is found to the model with your next message. \"cancel\" gives nothing",
	func(t *Tools, ctx context.Context, c client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
		return t.augment(ctx, c, key, p.Directory, strings.TrimSpace(p.Arguments))
	},
}

const (
	// The user chooses the words, so a few good hits are enough for the message.
	augmentHits   = 5
	augmentBudget = 1_500
	// A hit must reach this share of the best score. Other hits would hardly help.
	leastOfBest = 0.5
	// toldHit bounds a hit in the answer to the user, in bytes.
	toldHit = 100
)

// The method `augment` searches as ctx_search does, and attaches the hits to the user's next message. If the sidekick
// is switched on, it may replace the hits until the message comes.
func (t *Tools) augment(ctx context.Context, c client.Client, key store.Key, directory, words string) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	say := func(variant, text string) (schema.CommandExecuteResult, error) {
		return schema.CommandExecuteResult{Title: "magicctx", Variant: variant, Message: text}, nil
	}
	if words == "" {
		return say("warning", "Write /ctx-aug and some words to look for, for example /ctx-aug busy timeout.")
	}
	if words == "cancel" {
		if err := t.attach(ctx, key, "", nil); err != nil {
			return none, err
		}
		return say("info", "Your next message goes alone.")
	}
	q := search.Query{Text: words, Limit: augmentHits}
	budget, err := t.scope(ctx, key, directory, &q)
	switch {
	case errors.Is(err, errNoProject):
		return say("warning", "The project of this session is not known yet. Send a message first.")
	case err != nil:
		t.Guard.Wrote(err)
		return none, err
	}
	hits, err := t.helpful(ctx, q)
	var r *sidekickRun
	if cfg := t.Clients.Config(key.Harness, directory); err == nil && !cfg.Sidekick.Disable {
		r = &sidekickRun{Tools: t, client: c, session: key, directory: directory, cfg: cfg, words: words, query: q, first: hits, budget: min(budget, augmentBudget)}
	}
	switch {
	case ctx.Err() != nil:
		return none, err
	case errors.Is(err, index.ErrMissing), err == nil && len(hits) == 0 && r == nil:
		return say("info", "Nothing found. Your next message goes alone.")
	case err != nil: // for example, the query has no words
		return say("warning", format.Clean(err.Error()))
	}
	shown, page := 0, ""
	var texts []string
	if len(hits) > 0 {
		shown, page = hitsPage(hits, key, min(budget, augmentBudget))
	}
	for i := range hits[:shown] {
		texts = append(texts, hits[i].Text)
	}
	if err := t.attach(ctx, key, page, r); err != nil {
		return none, err
	}
	if r == nil {
		return say("success", told(fmt.Sprintf("The model gets %s with your next message. /ctx-aug cancel gives it none.", format.Count(shown, "finding")), texts))
	}
	if r.start(); shown == 0 {
		return say("info", "The first search found nothing. The sidekick now tries other words, and a notice tells its result. /ctx-aug cancel ends it.")
	}
	return say("info", told(fmt.Sprintf("The model gets %s with your next message, unless the sidekick first chooses others: a notice tells. /ctx-aug cancel ends it, and gives the model none.",
		format.Count(shown, "finding")), texts))
}

func (t *Tools) helpful(ctx context.Context, q search.Query) ([]search.Hit, error) {
	hits, err := t.find(ctx, q)
	return slices.DeleteFunc(hits, func(h search.Hit) bool { return h.Score < leastOfBest*hits[0].Score }), err
}

func told(sentence string, findings []string) string {
	lines := []string{sentence}
	for _, text := range findings {
		lines = append(lines, "- "+format.Shorten(format.Clean(flat(text)), toldHit))
	}
	return strings.Join(lines, "\n")
}

// The method `attach` stores a text for the next message of a session, and replaces an earlier text. If `r` is not nil,
// it is a run of the sidekick that may replace the text until the message comes.
func (t *Tools) attach(ctx context.Context, key store.Key, text string, r *sidekickRun) error {
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	if r == nil {
		t.Attach(s, text, nil)
		return nil
	}
	r.prepare(s.Row.Provider + "/" + s.Row.Model)
	t.Attach(s, text, r.end)
	return nil
}
