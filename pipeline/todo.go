package pipeline

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// todoTool is the harness's tool that keeps the model's todo list.
const todoTool = "todowrite"

// nextTodo returns the todo list that is shown again from this bust on: the
// newest one, at the end of the newest answer, if the call that wrote it has
// lost its content and something in it is still to do (spec transform §22). A
// list that is already shown stays where it is.
func (s *Session) nextTodo(p render.Profile, isDropped func(tag int) bool) frozen.Todo {
	if !p.TakesSyntheticCalls {
		return frozen.Todo{}
	}
	state, tag := s.newestTodo()
	if state == "" || tag > 0 && !isDropped(tag) {
		return frozen.Todo{}
	}
	if now := s.State.Setup.Todo; now.State == state && s.isAnswer(now.MessageKey) {
		return now
	}
	for i := len(s.entries) - 1; i >= 0; i-- {
		if key := s.entries[i].head.key; s.isAnswer(key) {
			return frozen.Todo{MessageKey: key, State: state}
		}
	}
	return frozen.Todo{}
}

// newestTodo returns the state of the newest list, "" when nothing is to do,
// and the tag of the call that wrote it.
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

// isAnswer reports whether the message is an answer that the provider sees.
func (s *Session) isAnswer(key string) bool {
	i, ok := s.index[key]
	return ok && key != "" && s.entries[i].head.role == transcript.Assistant && !s.entries[i].head.hidden && len(s.entries[i].items) > 0
}

// todoPart is the call that shows a list again, in the harness's shape.
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

// todoAfter is the todo list to show once edits are applied.
func (s *Session) todoAfter(p render.Profile, edits []frozen.Edit) frozen.Todo {
	undo := s.State.Freeze(edits)
	defer s.State.Thaw(undo)
	return s.nextTodo(p, func(tag int) bool { return !s.State.ByTag(tag).Active() })
}
