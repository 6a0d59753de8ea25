package prompt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/learn"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// System returns the system prompt for a request. This is the harness's prompt with the guidance at its end, and with
// the date that the cached prefix already has. If the harness has changed anything but the date, System uses the new
// prompt, and the journal gets a bust. For a model that binds its thinking, frozenSystem or nextFrozenSystem chooses
// the prompt instead.
//
// Some harnesses call System once, before the first pass of a turn, and use the result for the whole turn
// (SystemVocabulary.ComesFirst). With these, the pass that follows the changed prompt counts as the bust. With all
// others, it is the newest pass.
func (pr *Prompts) System(ctx context.Context, c client.Client, key store.Key, p schema.SystemParams) (schema.SystemResult, error) {
	var unchanged schema.SystemResult
	codec, err := client.CodecOf(key.Harness)
	if err != nil {
		return unchanged, err
	}
	words := &codec.Vocabulary().System
	if isOwnPrompt(words, p.System) {
		return unchanged, nil
	}
	s, err := pr.Sessions.Lock(ctx, key)
	if err != nil {
		return unchanged, err
	}
	defer s.Unlock()
	if !s.Known {
		if _, err := pr.Sessions.Load(ctx, s); err != nil {
			return unchanged, err
		}
	}
	if s.Pipe != nil {
		s.Pipe.SystemBlocks = len(p.System)
	}
	cfg := pr.Clients.Config(key.Harness, p.Directory)
	r := systemRequest{words: words, prompt: slices.Clone(p.System), binds: s.Row.Setup.Binds, isPrefixGone: s.Row.Epoch > s.Row.System.StickyDateEpoch}
	m := s.Mode()
	if words.ComesFirst {
		if err := pr.readAhead(ctx, c, s, p, cfg, &r); err != nil {
			return unchanged, err
		}
		if s.Row.Passes == 0 {
			m = session.ModeOf(codec, nil, false, cfg.CtxReduceEnabled)
		}
	}
	guided := wantsGuidance(cfg.SystemPromptInjection, p.System)
	if s.Row.Passes == 0 && !words.ComesFirst {
		return unchanged, nil
	}
	if !guided && !r.binds {
		state := s.Row.System
		if state.SystemTokens == 0 { // the status names the size of the prompt
			state.SystemTokens = tokens.Count(strings.Join(p.System, "\n"))
		}
		return unchanged, pr.saveSystem(ctx, s, state)
	}
	text := guidanceFor(m, cfg)
	if guided && text != "" && !strings.Contains(strings.Join(r.prompt, "\n"), guidanceHeading) {
		r.addGuidance(text)
	}
	switch {
	case r.binds && words.ComesFirst:
		return pr.nextFrozenSystem(ctx, s, r)
	case r.binds:
		return pr.frozenSystem(ctx, s, r)
	}
	state, changed := nextSystemState(s.Row, r)
	if err := pr.noteSystem(ctx, s, state, changed, words.ComesFirst); err != nil {
		return unchanged, err
	}
	r.prompt[0] = words.WithDate(r.prompt[0], state.StickyDate)
	return schema.SystemResult{System: r.prompt}, nil
}

// noteSystem stores the state after a request's system prompt. A changed prompt makes one pass a bust: the next pass if
// the harness calls System before the passes of a turn, and otherwise the newest pass. If the newest pass could not be
// stored, the journal has no row for it. Then noteSystem stores nothing, and the next request will show the same change
// again.
func (pr *Prompts) noteSystem(ctx context.Context, s *session.Session, state store.SystemState, changed, comesFirst bool) error {
	isLost := s.SystemOf == s.Row.Passes
	s.SystemOf = s.Row.Passes
	if changed && isLost && !comesFirst {
		return nil
	}
	state.Pending = state.Pending || changed && comesFirst
	if err := pr.saveSystem(ctx, s, state); err != nil {
		return err
	}
	if changed && !comesFirst {
		pr.noteBust(ctx, s, pipeline.BustSystem)
	}
	return nil
}

// A systemRequest is the prompt that the harness is about to send, with facts that decide how the host changes it.
type systemRequest struct {
	words  *transcript.SystemVocabulary
	prompt []string
	binds  bool
	// isPrefixGone means that the provider no longer caches the prefix, so a new date costs nothing.
	isPrefixGone bool
}

// addGuidance appends the guidance to the last block. A separate block would use up one of the provider's breakpoints,
// and the head needs this breakpoint (docs/history.md).
func (r *systemRequest) addGuidance(text string) {
	r.prompt[len(r.prompt)-1] += guidanceSeparator + text
}

const guidanceSeparator = "\n\n"

func withoutGuidance(block string) string {
	own, _, _ := strings.Cut(block, guidanceSeparator+guidanceHeading)
	return own
}

func (pr *Prompts) saveSystem(ctx context.Context, s *session.Session, state store.SystemState) error {
	if state == s.Row.System {
		return nil
	}
	if err := pr.Store.SaveSystem(ctx, s.Key, state); err != nil {
		pr.Guard.Wrote(err)
		return err
	}
	s.Row.System = state
	return nil
}

// frozenSystem returns the system prompt of the current preamble, because the thinking is bound to that prompt. If the
// harness sends a different prompt, the model does not get it yet. The first pass of the next turn begins a new
// preamble with it.
func (pr *Prompts) frozenSystem(ctx context.Context, s *session.Session, r systemRequest) (schema.SystemResult, error) {
	words, system := r.words, r.prompt
	before := s.Row.System
	state := before
	var frozen []string
	if before.Text != "" && before.Preamble == s.Row.Setup.Preamble && json.Unmarshal([]byte(before.Text), &frozen) == nil {
		if !sameOpening(words, frozen, system) {
			return schema.SystemResult{}, nil
		}
		// A new date is not worth the loss of all thinking. It waits until the prefix is gone for another reason.
		state.Pending = withoutDate(words, frozen) != withoutDate(words, system)
	} else {
		text, err := json.Marshal(system)
		if err != nil {
			return schema.SystemResult{}, fmt.Errorf("encode system prompt: %w", err)
		}
		state, _ = nextSystemState(s.Row, r)
		state.Text, state.Preamble, state.Pending, state.At = string(text), s.Row.Setup.Preamble, false, pr.Clock.Now()
		frozen = system
	}
	if err := pr.saveSystem(ctx, s, state); err != nil {
		return schema.SystemResult{}, err
	}
	return schema.SystemResult{System: frozen}, nil
}

// sameOpening reports whether two system prompts begin alike. If not, the second one belongs to another agent in the
// same session, for example to a title agent that the user has configured.
func sameOpening(words *transcript.SystemVocabulary, a, b []string) bool {
	const enough = 60 // in bytes, enough for the sentence that names the agent
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	was, is := withoutGuidance(withoutDate(words, a[:1])), withoutGuidance(withoutDate(words, b[:1]))
	n := min(enough, len(was), len(is))
	return was[:n] == is[:n]
}

func withoutDate(words *transcript.SystemVocabulary, system []string) string {
	return words.WithDate(strings.Join(system, "\x00"), "")
}

func isOwnPrompt(words *transcript.SystemVocabulary, system []string) bool {
	if len(system) == 0 {
		return true
	}
	for _, opening := range words.OwnPrompts {
		if strings.HasPrefix(strings.TrimSpace(system[0]), opening) {
			return true
		}
	}
	return false
}

func wantsGuidance(c schema.SystemPromptInjection, system []string) bool {
	if !c.Enabled {
		return false
	}
	all := strings.Join(system, "\n")
	for _, signature := range c.SkipSignatures {
		if signature != "" && strings.Contains(all, signature) {
			return false
		}
	}
	return strings.TrimSpace(all) != ""
}

// nextSystemState returns the state after a request with this system prompt. A new date does not count as a change. It
// is used only when the prefix is gone anyway, because a new epoch has begun or the rest of the prompt has changed. At
// any other time, a new date would cause a bust of its own (defect C6).
func nextSystemState(row store.SessionRow, r systemRequest) (state store.SystemState, changed bool) {
	words, system := r.words, r.prompt
	state = row.System
	sum := sha256.Sum256([]byte(words.WithDate(strings.Join(system, "\n"), "")))
	hash := hex.EncodeToString(sum[:])
	// If the session has passes but no stored prompt, the requests of those passes had no guidance. So a prompt with
	// guidance is a change.
	isFirst := row.Passes == 0 || row.Passes == 1 && !words.ComesFirst
	changed = state.SystemHash != hash && (state.SystemHash != "" || !isFirst)
	date := words.DateIn(system[0])
	if state.SystemHash == "" || changed || r.isPrefixGone {
		state.StickyDate, state.StickyDateEpoch = date, row.Epoch
	}
	if state.SystemHash != hash {
		state.SystemHash, state.SystemTokens = hash, tokens.Count(strings.Join(system, "\n"))
	}
	return state, changed
}

// noteBust journals that the newest pass has lost its prefix because the harness changed something after the pass.
func (pr *Prompts) noteBust(ctx context.Context, s *session.Session, cause string) {
	learn.PromptChanged(s)
	pr.Log.Info("prefix lost", "session", s.Key.Session, "pass", s.Row.Passes, "cause", cause)
	isNew, err := pr.Store.MarkBust(ctx, s.Key, s.Row.Passes, cause)
	if err != nil {
		pr.Guard.Wrote(err)
		pr.Log.Warn("bust not journalled", "session", s.Key.Session, "error", err)
	}
	if isNew {
		s.Row.Busts++
	}
}
