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

// nextTodo returns the synthetic todo list that the wire shows from this bust on. It shows the newest list if that list
// still has an open item and the call that wrote it has been dropped. The list is added at the end of the newest answer
// that may have it. A list that is already shown keeps its place for as long as that place is allowed. The argument
// newest is the index of the newest answer that the provider sees. covered is the number of leading messages that the
// head covers, and after is the state with the edits of the bust.
func (s *Session) nextTodo(p render.Profile, binds bool, newest, covered int, after *frozen.Overlay) frozen.Todo {
	if !p.TakesSyntheticCalls {
		return frozen.Todo{}
	}
	state, tag := s.newestTodo()
	if state == "" || tag > 0 && after.ByTag(tag).Active() {
		return frozen.Todo{}
	}
	// While thinking is on, Anthropic requires that a final answer with calls starts with thinking. A synthetic call
	// could turn an answer without calls into a final answer with calls: the newest answer, and after a revert any
	// other answer. So the list is added only to an answer that has calls itself. If the session has thinking, this
	// answer must not be the newest. An answer with thinking must still have one of its own calls, because the thinking
	// is removed with the answer's last call. A model that binds its thinking is free of this rule.
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

// newestTodo returns the state of the newest todo list and the tag of the call that
// wrote it. The state is empty if the list has no open item.
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

// isAnswer reports whether the provider sees the message and it is an answer of the
// model with at least one unit.
func (s *array) isAnswer(key string) bool {
	i, ok := s.index[key]
	return ok && key != "" && s.entries[i].header.role == transcript.Assistant && !s.entries[i].header.hidden && len(s.entries[i].items) > 0
}

// keepsCall reports whether one of the message's calls is not dropped.
func (e *entry) keepsCall(after *frozen.Overlay) bool {
	return slices.ContainsFunc(e.items, func(it rule.Item) bool {
		u := after.ByTag(it.Tag)
		return u != nil && u.Kind == frozen.ToolUnit && u.Edit != frozen.Drop
	})
}

// todoCall returns the operations that append a call with the todo list.
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
