package text

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/json"
)

const (
	todoCallPrefix  = "mc_synthetic_todo_"
	defaultPriority = "medium"

	todoCompleted = "completed"
	todoCancelled = "cancelled"
)

// A Todo is an item of the model's todo list. The order of its fields must not change, because TodoCallID hashes their
// JSON.
type Todo struct {
	Content  string `json:"content"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
}

// ParseTodos returns the todo list from the raw input of a call of todowrite. If one item is invalid, it returns false,
// and the caller falls back to the last complete list.
func ParseTodos(input json.Value) ([]Todo, bool) {
	var call struct {
		Todos json.Value `json:"todos"`
	}
	if json.Unmarshal(input, &call) != nil {
		return nil, false
	}
	return parseTodoList(call.Todos)
}

func parseTodoList(list json.Value) ([]Todo, bool) {
	if list.Kind() != '[' {
		return nil, false
	}
	var items []json.Value
	if json.Unmarshal(list, &items) != nil {
		return nil, false
	}
	todos := make([]Todo, len(items))
	for i, item := range items {
		var ok bool
		if todos[i], ok = parseTodo(item); !ok {
			return nil, false
		}
	}
	return todos, true
}

func parseTodo(item json.Value) (Todo, bool) {
	if item.Kind() != '{' {
		return Todo{}, false
	}
	var raw struct {
		Content  json.Value `json:"content"`
		Status   json.Value `json:"status"`
		Priority json.Value `json:"priority"`
	}
	if json.Unmarshal(item, &raw) != nil {
		return Todo{}, false
	}
	todo := Todo{Priority: defaultPriority}
	ok := raw.Content.Kind() == '"' && json.Unmarshal(raw.Content, &todo.Content) == nil &&
		raw.Status.Kind() == '"' && json.Unmarshal(raw.Status, &todo.Status) == nil &&
		(raw.Priority == nil || raw.Priority.Kind() == '"' && json.Unmarshal(raw.Priority, &todo.Priority) == nil)
	return todo, ok
}

// StateJSON returns the same bytes as JavaScript's JSON.stringify, for TodoCallID.
func StateJSON(todos []Todo) []byte { return mustMarshal(json.Marshal(todos)) }

func mustMarshal(b []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("text: marshal todos: %v", err)) // strings always marshal
	}
	return b
}

func AllDone(todos []Todo) bool {
	for _, t := range todos {
		if t.Status != todoCompleted && t.Status != todoCancelled {
			return false
		}
	}
	return len(todos) > 0
}

// TodoCallID returns the id of the synthetic call that shows a todo list. It is a hash of the list's JSON, so as long
// as the list is the same, the call is the same on every wire.
func TodoCallID(state []byte) string {
	sum := sha256.Sum256(state)
	return todoCallPrefix + hex.EncodeToString(sum[:8])
}

type TodoPart struct {
	CallID string
	Todos  json.Value // the state itself, used as input and as metadata
	Output string
	Title  string
}

// NewTodoPart returns the part that shows the todo list. `state` is the list in the form that StateJSON writes. If
// `state` is invalid, or if no item of the list is open, NewTodoPart returns false.
func NewTodoPart(state []byte) (TodoPart, bool) {
	todos, ok := parseTodoList(json.Value(state))
	if !ok || len(todos) == 0 || AllDone(todos) {
		return TodoPart{}, false
	}
	// The harness's own title also counts cancelled todos as open.
	open := 0
	for _, t := range todos {
		if t.Status != todoCompleted {
			open++
		}
	}
	return TodoPart{
		CallID: TodoCallID(state),
		Todos:  json.Value(state),
		Output: string(mustMarshal(json.MarshalIndent(todos))),
		Title:  strconv.Itoa(open) + " todos",
	}, true
}
