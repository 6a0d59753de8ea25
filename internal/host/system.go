package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// dateLine is the line by which the harness tells the model the date. At midnight
// it would change the system prompt, and so invalidate the whole prefix.
var dateLine = regexp.MustCompile(`Today's date: .+`)

// ownPrompts are the first words of the prompts of the harness's own agents (title,
// summary, compaction). These requests have the session's id, but not its
// conversation.
var ownPrompts = []string{
	"You are a title generator.",
	"Summarize what was done in this conversation.",
	"You are a context summarization agent.",
}

// System returns the system prompt of a session. It adds the guidance at the end,
// and puts back the date that the prefix was built with. If the harness has changed
// the rest of the prompt, System lets the change through and journals it as a bust.
// For a model that binds its thinking, see frozenSystem.
func (h *Host) System(ctx context.Context, c Client, p schema.SystemParams) (schema.SystemResult, error) {
	var unchanged schema.SystemResult
	key, err := h.key(c, p.Session)
	if err != nil || isOwnPrompt(p.System) {
		return unchanged, err
	}
	s, err := h.sessions.lock(ctx, key)
	if err != nil {
		return unchanged, err
	}
	defer s.unlock()
	if !s.known {
		if _, err := h.load(ctx, s); err != nil {
			return unchanged, err
		}
	}
	cfg := h.config(key.Harness, p.Directory)
	guided := wantsGuidance(cfg.SystemPromptInjection, p.System)
	if s.row.Passes == 0 || !guided && !s.row.Setup.Binds {
		return unchanged, nil
	}
	system := append([]string(nil), p.System...)
	text := guidanceFor(s.mode(), cfg.ProtectedTags)
	if guided && text != "" && !strings.Contains(strings.Join(system, "\n"), guidanceHeading) {
		system = append(system, text)
	}
	if s.row.Setup.Binds {
		return h.frozenSystem(ctx, s, system)
	}
	state, changed := nextSystemState(s.row, system)
	if state != s.row.System {
		if err := h.Store.SaveSystem(ctx, key, state); err != nil {
			h.stored(err)
			return unchanged, err
		}
		s.row.System = state
	}
	if changed {
		h.noteBust(ctx, s, pipeline.BustSystem)
	}
	system[0] = dateLine.ReplaceAllLiteralString(system[0], state.StickyDate)
	return schema.SystemResult{System: system}, nil
}

// frozenSystem returns the system prompt of the session's preamble, because thinking
// is bound to it. If the harness sends another prompt, that prompt waits: the next
// pass that begins a turn begins a new preamble with it.
func (h *Host) frozenSystem(ctx context.Context, s *session, system []string) (schema.SystemResult, error) {
	before := s.row.System
	state := before
	var frozen []string
	if before.Text != "" && before.Preamble == s.row.Setup.Preamble && json.Unmarshal([]byte(before.Text), &frozen) == nil {
		if !sameOpening(frozen, system) {
			return schema.SystemResult{}, nil
		}
		// A new date alone is not worth the loss of all thinking. It waits until the
		// prefix is gone anyway.
		state.Pending = withoutDate(frozen) != withoutDate(system)
	} else {
		text, err := json.Marshal(system)
		if err != nil {
			return schema.SystemResult{}, fmt.Errorf("encode system prompt: %w", err)
		}
		state, _ = nextSystemState(s.row, system)
		state.Text, state.Preamble, state.Pending, state.At = string(text), s.row.Setup.Preamble, false, h.Clock.Now()
		frozen = system
	}
	if state != before {
		if err := h.Store.SaveSystem(ctx, s.key, state); err != nil {
			h.stored(err)
			return schema.SystemResult{}, err
		}
		s.row.System = state
	}
	return schema.SystemResult{System: frozen}, nil
}

// sameOpening reports whether two system prompts begin alike. If they do not, the
// second one belongs to another agent that works in the same session. An example
// is the title agent, when the user has configured its prompt.
func sameOpening(a, b []string) bool {
	const enough = 60 // bytes: the sentence that says who the agent is
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	was, is := withoutDate(a[:1]), withoutDate(b[:1])
	n := min(enough, len(was), len(is))
	return was[:n] == is[:n]
}

func withoutDate(system []string) string {
	return dateLine.ReplaceAllLiteralString(strings.Join(system, "\x00"), "")
}

// isEarlierDay reports whether a, Unix ms, lies on an earlier day than b on the
// calendar of this machine, which is the harness's.
func isEarlierDay(a, b int64) bool {
	year, day := time.UnixMilli(a).Year(), time.UnixMilli(a).YearDay()
	now := time.UnixMilli(b)
	return a > 0 && a < b && (year != now.Year() || day != now.YearDay())
}

func isOwnPrompt(system []string) bool {
	if len(system) == 0 {
		return true
	}
	for _, opening := range ownPrompts {
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

// nextSystemState returns the state after a request with this system prompt. It also
// reports whether the prompt has changed since the request before, apart from the
// date. A new date waits until the prefix is gone anyway: because a new epoch has
// begun, or because the rest of the prompt has changed (defect C6: two busts
// instead of one).
func nextSystemState(row store.SessionRow, system []string) (state store.SystemState, changed bool) {
	state = row.System
	sum := sha256.Sum256([]byte(dateLine.ReplaceAllLiteralString(strings.Join(system, "\n"), "")))
	hash := hex.EncodeToString(sum[:])
	changed = state.SystemHash != "" && state.SystemHash != hash
	date := dateLine.FindString(system[0])
	if state.SystemHash == "" || changed || row.Epoch > state.StickyDateEpoch {
		state.StickyDate, state.StickyDateEpoch = date, row.Epoch
	}
	if state.SystemHash != hash {
		state.SystemHash, state.SystemTokens = hash, tokens.Count(strings.Join(system, "\n"))
	}
	return state, changed
}

// noteBust journals that the newest pass lost its prefix because of a change that
// the harness made after that pass.
func (h *Host) noteBust(ctx context.Context, s *session, cause string) {
	s.pause = nil // its prompt cannot have been read from the cache
	h.Log.Info("prefix lost", "session", s.key.Session, "pass", s.row.Passes, "cause", cause)
	isNew, err := h.Store.MarkBust(ctx, s.key, s.row.Passes, cause)
	if err != nil {
		h.stored(err)
		h.Log.Warn("bust not journalled", "session", s.key.Session, "error", err)
	}
	if isNew {
		s.row.Busts++
	}
}
