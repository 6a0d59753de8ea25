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
	func(t *Tools, ctx context.Context, _ client.Client, key store.Key, p schema.CommandExecuteParams) (schema.CommandExecuteResult, error) {
		return t.augment(ctx, key, p.Directory, strings.TrimSpace(p.Arguments))
	},
}

const (
	// augmentHits and augmentBudget bound the hits that are sent with a message. The user has chosen the words, so the
	// best hits suffice.
	augmentHits   = 5
	augmentBudget = 1_500
	// leastOfBest is the least score of a hit, as a share of the best score. Weaker hits would hardly help.
	leastOfBest = 0.5
	// toldHit bounds a hit in the answer to the user, in bytes.
	toldHit = 100
)

// augment searches as ctx_search does, and keeps the hits for the user's next message. No model is asked.
func (t *Tools) augment(ctx context.Context, key store.Key, directory, words string) (schema.CommandExecuteResult, error) {
	var none schema.CommandExecuteResult
	say := func(variant, text string) (schema.CommandExecuteResult, error) {
		return schema.CommandExecuteResult{Title: "magicctx", Variant: variant, Message: text}, nil
	}
	if words == "" {
		return say("warning", "Write /ctx-aug and some words to look for, for example /ctx-aug busy timeout.")
	}
	if words == "cancel" {
		if err := t.attach(ctx, key, ""); err != nil {
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
	hits, err := t.find(ctx, q)
	switch {
	case ctx.Err() != nil:
		return none, err
	case errors.Is(err, index.ErrMissing), err == nil && len(hits) == 0:
		return say("info", "Nothing found. Your next message goes alone.")
	case err != nil: // for example, the query has no words
		return say("warning", format.Clean(err.Error()))
	}
	hits = slices.DeleteFunc(hits, func(h search.Hit) bool { return h.Score < leastOfBest*hits[0].Score })
	shown, page := hitsPage(hits, key, min(budget, augmentBudget))
	if err := t.attach(ctx, key, page); err != nil {
		return none, err
	}
	lines := []string{fmt.Sprintf("The model gets %s with your next message. /ctx-aug cancel gives it none.", format.Count(shown, "finding"))}
	for i := range hits[:shown] {
		lines = append(lines, "- "+format.Shorten(format.Clean(flat(hits[i].Text)), toldHit))
	}
	return say("success", strings.Join(lines, "\n"))
}

// attach keeps a text for the next message of a session, in place of an earlier one.
func (t *Tools) attach(ctx context.Context, key store.Key, text string) error {
	s, err := t.Sessions.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer s.Unlock()
	t.Attach(s, text)
	return nil
}
