package pipeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

// Nobody can know why a model reads something again. So these cases define which repeated reads count as a sign that a
// removal was wrong.
func TestRereads(t *testing.T) {
	type step struct {
		tool  string
		input obj
		fails bool
	}
	read := func(path string) step { return step{"read", obj{"filePath": path}, false} }
	edit := func(path string) step {
		return step{"edit", obj{"filePath": path, "oldString": "a", "newString": "b"}, false}
	}
	run := func(command string) step { return step{"bash", obj{"command": command}, false} }
	failed := func(s step) step { s.fails = true; return s }
	for _, c := range []struct {
		name          string
		before, after []step
		remove        []int // steps of before, from 1
		want          []int // steps whose removal was wrong
	}{
		{"the same file", []step{read("a.go")}, []step{read("a.go")}, []int{1}, []int{1}},
		{"another file", []step{read("a.go")}, []step{read("b.go")}, []int{1}, nil},
		{"another part of the file", []step{{"read", obj{"filePath": "a.go", "offset": 10}, false}}, []step{read("a.go")}, []int{1}, nil},
		{"arguments in another order", []step{{"grep", obj{"pattern": "x", "path": "."}, false}}, []step{{"grep", obj{"path": ".", "pattern": "x", "include": nil}, false}}, []int{1}, []int{1}},
		{"nothing was removed", []step{read("a.go")}, []step{read("a.go")}, nil, nil},
		{"a newer result was still there", []step{read("a.go"), read("a.go")}, []step{read("a.go")}, []int{1}, nil},
		{"the newest of two results was removed as well", []step{read("a.go"), read("a.go")}, []step{read("a.go")}, []int{1, 2}, []int{2}},
		{"the second repetition finds the first", []step{read("a.go")}, []step{read("a.go"), read("a.go")}, []int{1}, []int{1}},
		{"the file was changed after the removal", []step{read("a.go")}, []step{edit("a.go"), read("a.go")}, []int{1}, nil},
		{"the file was changed before the removal", []step{read("a.go"), edit("a.go")}, []step{read("a.go")}, []int{1}, nil},
		{"another file was changed", []step{read("a.go")}, []step{edit("b.go"), read("a.go")}, []int{1}, []int{1}},
		{"the change failed", []step{read("a.go")}, []step{failed(edit("a.go")), read("a.go")}, []int{1}, []int{1}},
		{"a patch changes unknown files", []step{read("a.go")}, []step{{"apply_patch", obj{"patchText": "x"}, false}, read("a.go")}, []int{1}, nil},
		{"the same command", []step{run("cat a.go")}, []step{run("cat a.go")}, []int{1}, []int{1}},
		{"a command after a change", []step{run("go test ./...")}, []step{edit("a.go"), run("go test ./...")}, []int{1}, nil},
		{"a command that is a habit", []step{run("git status"), run("git status")}, []step{run("git status")}, []int{1, 2}, nil},
		{"a search after a change", []step{{"grep", obj{"pattern": "x"}, false}}, []step{edit("a.go"), {"grep", obj{"pattern": "x"}, false}}, []int{1}, nil},
		{"the new call failed", []step{read("a.go")}, []step{failed(read("a.go"))}, []int{1}, nil},
		{"the removed call had failed", []step{failed(read("a.go"))}, []step{read("a.go")}, []int{1}, nil},
		{"a task is no reading", []step{{"task", obj{"prompt": "x"}, false}}, []step{{"task", obj{"prompt": "x"}, false}}, []int{1}, nil},
		{"a write is no reading", []step{{"write", obj{"filePath": "a", "content": "b"}, false}}, []step{{"write", obj{"filePath": "a", "content": "b"}, false}}, []int{1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, true, 20)
			n := 0
			add := func(steps []step) {
				for _, s := range steps {
					n++
					p := toolPart(fmt.Sprint("p", n), fmt.Sprint("c", n), s.tool, s.input, fmt.Sprintf("%080d", n))
					if s.fails {
						p["state"] = obj{"status": "error", "input": s.input, "error": "no"}
					}
					w.add(message(fmt.Sprint("a", n), "assistant", w.now+int64(n), nil, p))
				}
			}
			tagOf := func(step int) int {
				for _, u := range w.session.State.Units() {
					if u.MessageKey == fmt.Sprint("a", step) {
						return u.Tag
					}
				}
				return 0
			}
			w.add(message("u1", "user", w.now, nil, textPart("q", "go")))
			add(c.before)
			w.pass()
			if rereads, _ := w.session.Rereads(); rereads != nil {
				t.Errorf("before the removal: %+v", rereads)
			}
			for _, step := range c.remove {
				w.session.State.Commit(frozen.Additions{Edits: []frozen.Edit{{Tag: tagOf(step), Kind: frozen.Drop}}})
			}
			w.session.weighAll()
			add(c.after)
			w.pass()
			var got []int
			rereads, expansions := w.session.Rereads()
			for _, r := range rereads {
				for step := range n {
					if tagOf(step+1) == r.Tag {
						got = append(got, step+1)
						if want := w.session.State.ByTag(r.Tag).Tokens; r.Tokens != want || r.MessageKey != fmt.Sprint("a", step+1) {
							t.Errorf("%+v, want %d tokens", r, want)
						}
					}
				}
			}
			if !slices.Equal(got, c.want) || len(expansions) > 0 {
				t.Errorf("got %v, want %v", got, c.want)
			}
			w.add(message("u2", "user", w.now, nil, textPart("q2", "on")))
			w.pass()
			if rereads, _ := w.session.Rereads(); rereads != nil {
				t.Errorf("the next pass counts it again: %+v", rereads)
			}
		})
	}
}

func TestExpansions(t *testing.T) {
	w := newWorld(t, true, 20)
	w.add(message("u1", "user", w.now, nil, textPart("q", "go")), message("a1", "assistant", w.now, nil, toolPart("p1", "c1", "read", obj{"filePath": "a"}, fmt.Sprintf("%0400d", 1))))
	w.pass()
	expand := func(n int, input obj) {
		w.add(message(fmt.Sprint("x", n), "assistant", w.now, nil, toolPart(fmt.Sprint("px", n), fmt.Sprint("cx", n), "ctx_expand", input, fmt.Sprintf("%0200d", n))))
		w.pass()
	}
	for n, c := range []struct {
		input      obj
		start, end int
	}{
		{obj{"start": 1, "end": 2}, 1, 2},
		{obj{"end": 2, "start": 1}, 0, 0},
		{obj{"start": 2}, 2, 2},
		{obj{"start": 1, "end": 3, "outline": true}, 0, 0},
		{obj{"start": "x"}, 0, 0},
	} {
		expand(n, c.input)
		rereads, got := w.session.Rereads()
		if len(rereads) > 0 {
			t.Errorf("%v: %+v", c.input, rereads)
		}
		switch {
		case c.start == 0 && len(got) == 0:
		case len(got) != 1 || got[0].Start != c.start || got[0].End != c.end || got[0].Tokens != 50:
			t.Errorf("%v: %+v", c.input, got)
		}
	}
	if got := w.session.RemovedIn([]string{"u1", "a1", "gone"}, 50); got != nil {
		t.Errorf("nothing is removed: %+v", got)
	}
	w.session.State.Commit(frozen.Additions{Edits: []frozen.Edit{{Tag: 2, Kind: frozen.Drop}}})
	w.session.weighAll()
	if got := w.session.RemovedIn([]string{"u1", "a1", "gone"}, 50); len(got) != 1 || got[0] != (Reread{2, "a1", 50}) {
		t.Errorf("one result is removed, and half of it shown: %+v", got)
	}
}

// If the model often reads again what a rule has removed, the pass asks this rule for edits only on a more urgent
// occasion.
func TestRegrettedRuleIsAskedLater(t *testing.T) {
	build := func(regretted ...string) *world {
		w := newWorld(t, true, 1)
		w.readings.Knobs.IsRegretted = func(name string) bool { return slices.Contains(regretted, name) }
		w.add(message("u1", "user", w.now, nil, textPart("q", "go")))
		for n := range 3 {
			id := fmt.Sprint(n)
			w.add(message("a"+id, "assistant", w.now, nil, toolPart("p"+id, "c"+id, "read", obj{"filePath": "a"}, fmt.Sprintf("%080d", n))))
		}
		w.add(message("u2", "user", w.now, nil, textPart("q2", "on")))
		w.usage(10)
		return w
	}
	for _, c := range []struct {
		regretted string
		percent   float64
		queue     []int
		want      bool
	}{
		{"", 10, nil, true},
		{"duplicate calls", 10, nil, false},
		{"duplicate calls", 70, nil, true},
		{"queued drops", 10, []int{2}, true},
	} {
		w := build(c.regretted)
		w.usage(c.percent)
		w.readings.Knobs.Deduplicate = c.queue == nil
		w.pass()
		w.queue(c.queue...)
		w.usage(c.percent)
		w.readings.Flush = true
		w.pass()
		u := w.session.State.ByTag(2)
		if got := u.Edit == frozen.Drop || u.Edit == frozen.Skeleton; got != c.want {
			t.Errorf("%q regretted, at %v %%: dropped %v, want %v (%+v)", c.regretted, c.percent, got, c.want, w.decision)
		}
	}
}
