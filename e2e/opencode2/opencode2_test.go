package opencode2_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/stage"
)

type play struct {
	name string
	run  func(*world)
}

var plays = []play{
	{"parallel tools, and the prefix stays", playSteady},
	{"pressure", playPressure},
	{"a retry after 529 sends the same bytes", playRetry},
	{"an interrupt", playInterrupt},
	{"a revert", playRevert},
	{"a fork", playFork},
	{"an image", playImage},
	{"another model", playModelSwitch},
	{"a prompt during a turn", playSteer},
	{"a prompt after a turn", playQueue},
	{"a compaction by the user", playCompaction},
	{"an overflow", playOverflow},
	{"a subagent", playSubagent},
}

// One server plays all sessions, because its start takes long.
func TestSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stage.WithoutHistorian)
	w.options.Env = append(w.options.Env, "MAGICCTX_TRACE="+w.traces())
	w.start()
	w.play(plays...)
	check(t, w.server.Stop())
	w.replay()
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stage.WithoutHistorian)
	w.start()
	w.play(troubles...)
}

var troubles = []play{
	{"a stopped host", playStoppedHost},
	{"a killed host", playKilledHost},
	{"a restart of OpenCode", playRestart}, // the last one, because it ends OpenCode
}

func (w *world) play(all ...play) {
	for _, p := range all {
		w.t.Run(p.name, func(t *testing.T) {
			inner := *w
			inner.t = t
			p.run(&inner)
			w.server = inner.server
		})
	}
}

func playSteady(w *world) {
	s := w.session(large)
	w.say(s, "read both", calls(mockllm.Thinking("hm", "sig1"), mockllm.Text("I look."), read("c1", "a.txt"), read("c2", "b.txt")), mockllm.Say("Both are short."))
	w.say(s, "and now?", mockllm.Say("Nothing."))
	requests := w.requests(s)
	if len(requests) != 3 {
		w.t.Fatalf("%d requests, want 3", len(requests))
	}
	w.wants(requests[2], "§1§ read both", "alpha", "beta", "§6§ and now?")
	w.wholeArcs(requests[2])
	w.extends(requests[1:]) // the first request of a directory may lack our tools
	if !requests[2].SystemContains("ctx_reduce") {
		w.t.Errorf("the system prompt lacks the guidance: %q", requests[2].System)
	}
	st := w.status(s)
	if st.Passes != 3 || st.Busts != 0 {
		w.t.Errorf("%d passes and %d busts, want 3 and 0", st.Passes, st.Busts)
	}
}

func playPressure(w *world) {
	s := w.session(small)
	for i := range 12 {
		id := string(rune('a' + i))
		w.say(s, "step "+id, calls(mockllm.Text("I look."), read("c"+id, "long.txt")), mockllm.Say("Seen "+id+"."))
	}
	newest := w.newest(s)
	w.wants(newest, "step l", "step a")
	for _, r := range w.requests(s) {
		w.wholeArcs(r)
		if n := r.Tokens(); n > 30_000 {
			w.t.Errorf("request %d has %d tokens", r.Seq, n)
		}
	}
	if st := w.status(s); st.Busts == 0 {
		w.t.Errorf("no bust in %d passes", st.Passes)
	}
}

func playRetry(w *world) {
	s := w.session(large)
	w.say(s, "hello", mockllm.Fail(529, "overloaded_error", "Overloaded"), mockllm.Say("Hi."))
	requests := w.requests(s)
	if len(requests) != 2 || string(requests[0].Body) != string(requests[1].Body) {
		w.t.Errorf("%d requests, or the second one differs", len(requests))
	}
}

func playInterrupt(w *world) {
	s := w.session(large)
	w.mock.Enqueue(mockllm.Step{Blocks: []mockllm.Block{mockllm.Text("slow")}, Delay: time.Minute})
	check(w.t, s.Send(w.ctx, "hello", nil))
	w.await(s)
	check(w.t, s.Interrupt(w.ctx))
	check(w.t, s.Wait(w.ctx))
	w.say(s, "again", mockllm.Say("Hi."))
	w.wants(w.newest(s), "§1§ hello", "again")
}

func playRevert(w *world) {
	s := w.session(large)
	w.say(s, "first", mockllm.Say("One."))
	w.say(s, "second", mockllm.Say("Two."))
	messages, err := s.Messages(w.ctx)
	check(w.t, err)
	for _, m := range messages {
		if m.Type == "user" && m.Text == "second" {
			check(w.t, s.Revert(w.ctx, m.ID))
		}
	}
	w.say(s, "third", mockllm.Say("Three."))
	w.wants(w.newest(s), "§1§ first", "third")
	if strings.Contains(text(w.newest(s)), "second") {
		w.t.Errorf("the reverted prompt was sent:\n%s", text(w.newest(s)))
	}
}

func playFork(w *world) {
	s := w.session(large)
	w.say(s, "read", calls(mockllm.Text("I look."), read("c1", "a.txt")), mockllm.Say("Short."))
	f, err := s.Fork(w.ctx, "")
	check(w.t, err)
	w.say(f, "in the fork", mockllm.Say("Yes."))
	w.wants(w.newest(f), "§1§ read", "alpha", "in the fork")
	w.wholeArcs(w.newest(f))
}

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func playImage(w *world) {
	s := w.session(large)
	w.mock.Enqueue(mockllm.Say("A dot."))
	file := map[string]any{"uri": "data:image/png;base64," + png, "name": "p.png", "mime": "image/png"}
	check(w.t, s.Send(w.ctx, "look", map[string]any{"files": []any{file}}))
	check(w.t, s.Wait(w.ctx))
	if body := string(w.newest(s).Body); !strings.Contains(body, png) || !strings.Contains(body, "§1§ look") {
		w.t.Errorf("the image or the tag is missing: %.600s", body)
	}
}

func playModelSwitch(w *world) {
	s := w.session(large)
	w.say(s, "hello", mockllm.Say("Hi."))
	check(w.t, s.Switch(w.ctx, other))
	w.say(s, "again", mockllm.Say("Hi again."))
	if r := w.newest(s); "mock/"+r.Model != other {
		w.t.Errorf("the request asks %s", r.Model)
	}
	w.wants(w.newest(s), "§1§ hello", "§3§ again")
}

func playSteer(w *world) {
	s := w.session(large)
	w.interject(s, "steer", mockllm.Say("Steered."))
	requests := w.requests(s)
	if len(requests) != 2 {
		w.t.Errorf("%d requests, want 2", len(requests))
	}
	w.wants(w.newest(s), "§1§ read", "by the way", "alpha")
	w.wholeArcs(w.newest(s))
}

// A queued prompt begins another turn.
func playQueue(w *world) {
	s := w.session(large)
	w.interject(s, "queue", mockllm.Say("Read."), mockllm.Say("Answered."))
	requests := w.requests(s)
	if len(requests) != 3 || strings.Contains(text(requests[1]), "by the way") {
		w.t.Errorf("%d requests, want 3, and the prompt only in the last one", len(requests))
	}
	w.wants(w.newest(s), "§1§ read", "alpha", "Read.", "by the way")
	w.wholeArcs(w.newest(s))
	w.extends(requests)
}

func (w *world) interject(s *opencode2.Session, delivery string, further ...mockllm.Step) {
	w.t.Helper()
	sent := make(chan struct{})
	first := calls(mockllm.Text("I look."), read("c1", "a.txt"))
	first.Until = func(context.Context) { <-sent }
	w.mock.Enqueue(append([]mockllm.Step{first}, further...)...)
	check(w.t, s.Send(w.ctx, "read", nil))
	w.await(s)
	err := s.Send(w.ctx, "by the way", map[string]any{"delivery": delivery})
	close(sent)
	check(w.t, errors.Join(err, s.Wait(w.ctx)))
}

func (w *world) await(s *opencode2.Session) {
	w.t.Helper()
	for len(w.requests(s)) == 0 {
		check(w.t, w.ctx.Err())
		time.Sleep(10 * time.Millisecond)
	}
}

func playCompaction(w *world) {
	s := w.session(large)
	w.say(s, "first", calls(mockllm.Text("I look."), read("c1", "a.txt")), mockllm.Say("One."))
	w.say(s, "second", mockllm.Say("Two."))
	w.mock.Enqueue(mockllm.Say("## Objective\n- to test"))
	check(w.t, s.Compact(w.ctx))
	check(w.t, s.Wait(w.ctx))
	w.say(s, "third", mockllm.Say("Three."))
	w.wants(w.newest(s), "conversation-checkpoint", "to test", "third")
}

func playOverflow(w *world) {
	s := w.session(small)
	w.say(s, "first", calls(mockllm.Text("I look."), read("c1", "long.txt")), mockllm.Say("One."))
	w.mock.Enqueue(mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 31000 tokens > 20000 maximum"))
	check(w.t, s.Prompt(w.ctx, "second"))
	w.say(s, "third", mockllm.Say("Three."))
	w.wants(w.newest(s), "third")
	w.wholeArcs(w.newest(s))
	if st := w.status(s); st.ContextTokens != 20_000 {
		w.t.Errorf("after the refusal the window has %d tokens", st.ContextTokens)
	}
}

func playSubagent(w *world) {
	s := w.session(large)
	task := mockllm.Tool("c1", "subagent", map[string]any{"description": "look", "prompt": "Read a.txt.", "agent": "general"})
	w.mock.AddRule(mockllm.Rule{Name: "subagent", Match: func(r *mockllm.Request) bool { return len(r.Messages) == 1 && strings.Contains(text(r), "Read a.txt.") }, Answer: mockllm.Always(mockllm.Say("It holds alpha."))})
	w.say(s, "delegate", calls(mockllm.Text("I ask another."), task), mockllm.Say("Done."))
	w.wants(w.newest(s), "§1§ delegate", "It holds alpha.")
	w.wholeArcs(w.newest(s))
	all, err := w.user.Status(w.ctx)
	check(w.t, err)
	for _, st := range all.Sessions {
		if strings.HasPrefix(st.Mode, "subagent") {
			return
		}
	}
	w.t.Error("no session is a subagent's")
}

func playKilledHost(w *world) { w.withoutHost((*world).killHost) }

func playStoppedHost(w *world) {
	w.withoutHost(func(w *world) error { return w.user.StopHost(w.ctx) })
}

// Between two turns, the host ends. The shim must start a new host.
func (w *world) withoutHost(end func(*world) error) {
	w.t.Helper()
	s := w.session(large)
	w.say(s, "first", calls(mockllm.Text("I look."), read("c1", "a.txt")), mockllm.Say("One."))
	check(w.t, end(w))
	w.say(s, "second", mockllm.Say("Two."))
	w.wants(w.newest(s), "§1§ first", "second")
	w.extends(w.requests(s)[1:]) // the first request of a directory may lack our tools
}

func playRestart(w *world) {
	s := w.session(large)
	w.say(s, "first", calls(mockllm.Text("I look."), read("c1", "a.txt")), mockllm.Say("One."))
	check(w.t, w.server.Stop())
	w.start()
	again := w.server.Open(s.ID)
	w.say(again, "second", mockllm.Say("Two."))
	w.extends(w.requests(s))
}

// The requests of a hidden historian have no tools.
func TestHistorian(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{"historian": {"model": "`+other+`"}}`)
	w.start()
	w.mock.AddRule(mockllm.Rule{Name: "historian", Match: mockllm.Model("claude-other-5-0"), Answer: mockllm.Always(mockllm.Fail(http.StatusBadRequest, "invalid_request_error", "no"))})
	s := w.session(small)
	for i := range 10 {
		id := string(rune('a' + i))
		w.say(s, "step "+id+" "+strings.Repeat("please do this thing ", 60), calls(mockllm.Text("I look."), read("c"+id, "long.txt")), mockllm.Say("Seen "+id+"."))
	}
	for _, r := range w.mock.Requests() {
		if r.Rule == "historian" {
			if len(r.Tools) > 0 || len(r.System) != 1 {
				t.Errorf("the hidden agent has %d tools and %d parts of a system prompt", len(r.Tools), len(r.System))
			}
			return
		}
	}
	t.Error("no historian has asked the model")
}
