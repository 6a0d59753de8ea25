package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// todoTool is the name of OpenCode's tool that writes the model's todo list.
const todoTool = "todowrite"

// nextTodo returns the synthetic todo list that the wire shows from this bust on. After
// is the state with the edits of the bust. nextTodo
// shows the newest list if that list still has an open item and the call that wrote it
// has been dropped. The list goes to the end of the newest answer that may carry it. A
// list that is already shown keeps its place for as long as that place is allowed.
func (s *Session) nextTodo(p render.Profile, binds bool, after *frozen.Overlay) frozen.Todo {
	if !p.TakesSyntheticCalls {
		return frozen.Todo{}
	}
	state, tag := s.newestTodo()
	if state == "" || tag > 0 && after.ByTag(tag).Active() {
		return frozen.Todo{}
	}
	// While thinking is on, Anthropic requires that a final answer with calls starts
	// with thinking. A synthetic call at the end of the newest answer could turn it
	// into such an answer. So the list goes to an earlier one. A model that binds its
	// thinking is free of this rule.
	end := len(s.entries)
	if p.FusesAssistants && !binds && slices.ContainsFunc(s.entries, func(e entry) bool { return e.look.signed }) {
		end = s.newestAnswer()
	}
	if now := s.State.Setup.Todo; now.State == state && s.isAnswer(now.MessageKey) && s.index[now.MessageKey] < end {
		return now
	}
	for i := end - 1; i >= 0; i-- {
		if key := s.entries[i].head.key; s.isAnswer(key) {
			return frozen.Todo{MessageKey: key, State: state}
		}
	}
	return frozen.Todo{}
}

// newestAnswer returns the index of the newest assistant message that the provider
// sees, 0 if there is none.
func (s *Session) newestAnswer() int {
	for i := len(s.entries) - 1; i > 0; i-- {
		if e := &s.entries[i]; e.head.role == transcript.Assistant && !e.look.silent {
			return i
		}
	}
	return 0
}

// newestTodo returns the state of the newest todo list and the tag of the call that
// wrote it. The state is empty if the list has no open item.
func (s *Session) newestTodo() (state string, tag int) {
	for i := len(s.entries) - 1; i >= 0; i-- {
		e := &s.entries[i]
		if e.look.todo == nil {
			continue
		}
		todos, ok := text.ParseTodos(e.look.todo)
		if !ok {
			continue
		}
		if len(todos) == 0 || text.AllDone(todos) {
			return "", 0
		}
		for _, it := range e.items {
			if u := s.State.ByTag(it.Tag); u != nil && u.Tool == todoTool {
				tag = it.Tag
			}
		}
		return string(text.StateJSON(todos)), tag
	}
	return "", 0
}

// isAnswer reports whether the provider sees the message and it is an answer of the
// model with at least one unit.
func (s *Session) isAnswer(key string) bool {
	i, ok := s.index[key]
	return ok && key != "" && s.entries[i].head.role == transcript.Assistant && !s.entries[i].head.hidden && len(s.entries[i].items) > 0
}

// todoPart returns the call that shows a list again, as a part in the harness's
// format.
func todoPart(codec transcript.Codec, t frozen.Todo) json.Value {
	p, ok := text.NewTodoPart([]byte(t.State))
	if !ok {
		return nil
	}
	return codec.ToolPart(transcript.SyntheticCall{
		CallID: p.CallID, Tool: todoTool, Output: p.Output, Title: p.Title,
		Input:    json.Value(`{"todos":` + t.State + `}`),
		Metadata: json.Value(`{"todos":` + t.State + `,"truncated":false}`),
	})
}
