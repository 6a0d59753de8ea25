package text

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

// The rows are reference vectors. The third id was computed in Node, with JSON.stringify and SHA-256.
func TestTodoCallID(t *testing.T) {
	for state, want := range map[string]string{
		`[{"content":"A","status":"pending","priority":"high"}]`:                                                                "mc_synthetic_todo_37d24e27536fff53",
		`[{"content":"B","status":"pending","priority":"high"}]`:                                                                "mc_synthetic_todo_b000e728215ab73c",
		`[{"content":"a<b> & \"c\"` + "\u2028" + `\n\t\u0001` + "\u007f é😀/" + `","status":"in_progress","priority":"medium"}]`: "mc_synthetic_todo_dd5ab51dc1e0df6b",
	} {
		todos, ok := ParseTodos(json.Value(`{"todos":` + state + `}`))
		if !ok {
			t.Fatalf("%s is refused", state)
		}
		if got := string(StateJSON(todos)); got != state {
			t.Errorf("StateJSON = %s, want %s", got, state)
		}
		if got := TodoCallID([]byte(state)); got != want {
			t.Errorf("TodoCallID(%s) = %s, want %s", state, got, want)
		}
	}
}

func TestParseTodos(t *testing.T) {
	for _, c := range []struct{ input, state string }{
		{`{"todos":[]}`, `[]`},
		{`{"todos":[{"id":"1","status":"pending","content":"a"}],"x":1}`, `[{"content":"a","status":"pending","priority":"medium"}]`},
		{`{"todos":[{"content":"","status":"","priority":""}]}`, `[{"content":"","status":"","priority":""}]`},
		{`{"todos":[{"content":"a\u003c\/","status":"s","priority":"low"},{"content":"b","status":"t"}]}`, `[{"content":"a</","status":"s","priority":"low"},{"content":"b","status":"t","priority":"medium"}]`},
		{` { "todos" : [ { "content" : "a" , "status" : "s" } ] } `, `[{"content":"a","status":"s","priority":"medium"}]`},
		{`{"todos":[{"content":"a","status":"s"},{"content":"a"}]}`, ""},
		{`{"todos":[{"content":1,"status":"s"}]}`, ""},
		{`{"todos":[{"content":"a","status":null}]}`, ""},
		{`{"todos":[{"content":"a","status":"s","priority":2}]}`, ""},
		{`{"todos":[{"content":"a","status":"s","priority":null}]}`, ""},
		{`{"todos":["a"]}`, ""},
		{`{"todos":[null]}`, ""},
		{`{"todos":[[]]}`, ""},
		{`{"todos":{}}`, ""},
		{`{"todos":null}`, ""},
		{`{"Todos":[]}`, ""},
		{`{}`, ""},
		{`[]`, ""},
		{`null`, ""},
		{``, ""},
		{`{"todos":[`, ""},
	} {
		todos, ok := ParseTodos(json.Value(c.input))
		if ok != (c.state != "") {
			t.Errorf("ParseTodos(%s) reports %v", c.input, ok)
		} else if ok && string(StateJSON(todos)) != c.state {
			t.Errorf("ParseTodos(%s) is %s, want %s", c.input, StateJSON(todos), c.state)
		}
	}
}

func TestTodoPart(t *testing.T) {
	const state = `[{"content":"A","status":"pending","priority":"high"}]`
	part, ok := NewTodoPart([]byte(state))
	if !ok || part.CallID != "mc_synthetic_todo_37d24e27536fff53" || part.Title != "1 todos" || string(part.Todos) != state {
		t.Errorf("part %+v", part)
	}
	want := "[\n  {\n    \"content\": \"A\",\n    \"status\": \"pending\",\n    \"priority\": \"high\"\n  }\n]"
	if part.Output != want {
		t.Errorf("output %s, want %s", part.Output, want)
	}

	of := func(statuses ...string) []Todo {
		var todos []Todo
		for _, s := range statuses {
			todos = append(todos, Todo{"x", s, "low"})
		}
		return todos
	}
	for _, c := range []struct {
		todos []Todo
		done  bool
		title string // "" means that there is no part
	}{
		{of(), false, ""},
		{of("completed"), true, ""},
		{of("cancelled", "completed"), true, ""},
		{of("completed", "cancelled", "in_progress"), false, "2 todos"},
		{of("pending", "anything"), false, "2 todos"},
	} {
		if got := AllDone(c.todos); got != c.done {
			t.Errorf("AllDone(%v) = %v", c.todos, got)
		}
		part, ok := NewTodoPart(StateJSON(c.todos))
		if ok != (c.title != "") || part.Title != c.title {
			t.Errorf("part of %v: %v %q, want %q", c.todos, ok, part.Title, c.title)
		}
	}
	for _, state := range []string{"", "[", "{}", "null", `[{"content":1}]`} {
		if part, ok := NewTodoPart([]byte(state)); ok {
			t.Errorf("state %q gives %+v", state, part)
		}
	}
}

func FuzzParseTodos(f *testing.F) {
	f.Add([]byte(`{"todos":[{"content":"\ud800a","status":"s","status":"t"}]}`))
	f.Add([]byte("{\"todos\":[{\"content\":\"\xff\",\"status\":\"\"}]}"))
	f.Fuzz(func(t *testing.T, input []byte) {
		todos, ok := ParseTodos(input)
		if !ok {
			return
		}
		state := StateJSON(todos)
		again, ok := ParseTodos(json.Value(`{"todos":` + string(state) + `}`))
		if !ok || string(StateJSON(again)) != string(state) {
			t.Fatalf("%s does not survive: %s", state, StateJSON(again))
		}
		if id, found := strings.CutPrefix(TodoCallID(state), todoCallPrefix); !found || len(id) != 16 {
			t.Fatalf("id %s", id)
		} else if _, err := hex.DecodeString(id); err != nil {
			t.Fatal(err)
		}
		NewTodoPart(state)
	})
}
