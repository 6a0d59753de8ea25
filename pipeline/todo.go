package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// If the call that wrote the newest todo list was dropped, but an item of the list is still open, the wire must show
// the list again. nextTodo chooses the answer to which the list is added: the newest answer that may have the list. But
// if the wire already shows the list at an older answer that may have it, the list stays there. `newest` is the index
// of the newest visible answer, `covered` is the number of messages that the head covers, and `after` is the state with
// the edits of this pass.
func (s *Session) nextTodo(p render.Profile, binds bool, newest, covered int, after *frozen.Overlay) frozen.Todo {
	if !p.TakesSyntheticCalls {
		return frozen.Todo{}
	}
	state, tag := s.newestTodo()
	if state == "" || tag > 0 && after.ByTag(tag).Active() {
		return frozen.Todo{}
	}
	// While thinking is on, Anthropic requires that the last answer begins with thinking if it has calls. The list is
	// added as a call, and any answer may become the last one, for example after a revert. So three rules apply, unless
	// the model binds its thinking. First, only an answer that has calls anyway gets the list. Second, if the session
	// has thinking, the newest answer does not get it. Third, an answer with thinking gets it only while one of its own
	// calls is on the wire, because the host removes the thinking together with the last of these calls.
	end, wantsThinking := len(s.entries), p.WantsThinkingFirst && !binds
	if wantsThinking && slices.ContainsFunc(s.entries, func(e entry) bool { return e.traits.signed }) {
		end = max(newest, 0)
	}
	takes := func(key string) bool {
		if !s.isAnswer(key) || s.index[key] < covered || s.index[key] >= end {
			return false
		}
		e := &s.entries[s.index[key]]
		return !wantsThinking || e.header.hasTools && (!e.traits.signed || e.keepsCall(after))
	}
	if now := s.State.Setup.Todo; now.State == state && takes(now.MessageKey) {
		return now
	}
	for i := end - 1; i >= covered; i-- {
		if key := s.entries[i].header.key; takes(key) {
			return frozen.Todo{MessageKey: key, State: state}
		}
	}
	return frozen.Todo{}
}

// The state is empty if no item is open.
func (s *Session) newestTodo() (state string, tag int) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		e := &s.entries[i]
		if e.traits.todo == nil {
			continue
		}
		todos, ok := text.ParseTodos(e.traits.todo)
		if !ok {
			continue
		}
		if len(todos) == 0 || text.AllDone(todos) {
			return "", 0
		}
		for _, it := range e.items {
			if u := s.State.ByTag(it.Tag); u != nil && u.Tool == s.Codec.Vocabulary().TodoTool {
				tag = it.Tag
			}
		}
		return string(text.StateJSON(todos)), tag
	}
	return "", 0
}

// isAnswer reports whether key is the key of an answer that has a unit, and so reaches the provider.
func (s *array) isAnswer(key string) bool {
	i, ok := s.index[key]
	return ok && key != "" && s.entries[i].header.role == transcript.Assistant && len(s.entries[i].items) > 0
}

func (e *entry) keepsCall(after *frozen.Overlay) bool {
	return slices.ContainsFunc(e.items, func(it rule.Item) bool {
		u := after.ByTag(it.Tag)
		return u != nil && u.Kind == frozen.ToolUnit && u.Edit != frozen.Drop
	})
}

func todoCall(codec transcript.Codec, t frozen.Todo) schema.Patch {
	p, ok := text.NewTodoPart([]byte(t.State))
	if !ok {
		return nil
	}
	return codec.AddCall(transcript.SyntheticCall{
		CallID: p.CallID, Tool: codec.Vocabulary().TodoTool, Output: p.Output, Title: p.Title,
		Input:    json.Value(`{"todos":` + t.State + `}`),
		Metadata: json.Value(`{"todos":` + t.State + `,"truncated":false}`),
	})
}
