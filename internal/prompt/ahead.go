package prompt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

// This file is for harnesses that ask for a turn's system prompt before the turn's first pass
// (SystemVocabulary.ComesFirst).

// Normally, System reads the facts about the model and the cache from the pass. Here the pass comes later, so readAhead
// gets these facts itself.
func (pr *Prompts) readAhead(ctx context.Context, c client.Client, s *session.Session, p schema.SystemParams, cfg schema.Config, r *systemRequest) error {
	limits, err := pr.Models.Limits(ctx, c, p.Directory, p.Model)
	if err != nil {
		return err
	}
	if p.Model.ID != "" {
		r.binds = pass.BindsThinking(cfg, render.ProfileOf(p.Model.Provider, limits.NPM), p.Model)
	}
	last := max(s.Row.LastPassAt, s.AnsweredAt)
	r.isPrefixGone = time.Duration(pr.Clock.Now()-last)*time.Millisecond > pr.Models.CacheLife(ctx, s.Key.Harness, cfg, p.Model, limits.NPM).Life
	return nil
}

// nextFrozenSystem returns the system prompt for a turn that begins, if the model binds its thinking. If the
// harness's prompt has changed, nextFrozenSystem returns the new one, and the next pass begins a new preamble.
// If only the date has changed, it returns the old one until the prefix is gone: a new date is not worth the
// loss of all thinking.
func (pr *Prompts) nextFrozenSystem(ctx context.Context, s *session.Session, r systemRequest) (schema.SystemResult, error) {
	var frozen []string
	state := s.Row.System
	isFrozen := state.Text != "" && json.Unmarshal([]byte(state.Text), &frozen) == nil
	if isFrozen && (slices.Equal(frozen, r.prompt) || !r.isPrefixGone && withoutDate(r.words, frozen) == withoutDate(r.words, r.prompt)) {
		return schema.SystemResult{System: frozen}, nil
	}
	text, err := json.Marshal(r.prompt)
	if err != nil {
		return schema.SystemResult{}, fmt.Errorf("encode system prompt: %w", err)
	}
	state, _ = nextSystemState(s.Row, r)
	state.Text, state.Preamble, state.At = string(text), s.Row.Setup.Preamble+1, pr.Clock.Now()
	if err := pr.saveSystem(ctx, s, state); err != nil {
		return schema.SystemResult{}, err
	}
	return schema.SystemResult{System: r.prompt}, nil
}
