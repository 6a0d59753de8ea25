package host

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

type sideSession struct {
	h        *harness
	id       string
	messages []json.Value
	patches  map[string]schema.Patch
	last     schema.WireMutation
}

// fork copies the first n messages as the harness does: Pi leaves them unchanged. OpenCode 1 and 2 give messages and
// parts new ids that sort in another order. Times, texts, usage and call ids stay.
func (h *harness) fork(id string, n int) *sideSession {
	f := &sideSession{h: h, id: id}
	switch h.kind {
	case schema.HarnessPi:
		f.messages = slices.Clone(h.messages[:n])
		return f
	case schema.HarnessOpenCode2:
		for i, raw := range h.messages[:n] {
			id := json.Quote(fmt.Sprintf("msg_%s_%03d", id, i))
			again, err := render.Apply(raw, schema.Patch{{Op: "replace", Path: "/id", Value: id}, {Op: "replace", Path: "/message/id", Value: id}})
			if err != nil {
				h.t.Fatal(err)
			}
			f.messages = append(f.messages, again)
		}
		return f
	case schema.HarnessOpenCode:
	default:
		h.t.Fatalf("no fork of %s", h.kind)
	}
	for i, raw := range h.messages[:n] {
		f.messages = append(f.messages, copied(h.t, raw, id, i))
	}
	return f
}

func copied(t testing.TB, raw json.Value, session string, place int) json.Value {
	var m struct {
		Info  map[string]any   `json:"info"`
		Parts []map[string]any `json:"parts"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	m.Info["id"], m.Info["sessionID"] = fmt.Sprintf("msg_%s_%03d", session, place), session
	for i := range m.Parts {
		m.Parts[i]["id"] = fmt.Sprintf("prt_%s_%03d_%d", session, place, i)
	}
	again, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func (f *sideSession) user(id, text string) {
	before := f.h.messages
	f.h.messages = nil
	f.h.user(id, text)
	f.messages = append(f.messages, f.h.messages...)
	f.h.messages = before
}

// pass runs a pass of the side session. It always sends the whole array, like a shim that sees the session for the
// first time.
func (f *sideSession) pass() schema.WireMutation {
	f.h.t.Helper()
	m, err := f.transform("")
	if err != nil {
		f.h.t.Fatal(err)
	}
	return m
}

func (f *sideSession) transform(parent string) (schema.WireMutation, error) {
	all, err := json.Marshal(f.messages)
	if err != nil {
		f.h.t.Fatal(err)
	}
	m, err := f.h.host.Transform(context.Background(), f.h, schema.TransformParams{Session: f.id, Directory: f.h.project, Parent: parent, Messages: all, Model: f.h.askedModel()})
	if err == nil {
		f.last, f.patches = m, m.Edits
	}
	return m, err
}

// wireOf returns the patched messages without their ids, as the provider gets them.
func wireOf(t testing.TB, messages []json.Value, patches map[string]schema.Patch) []string {
	t.Helper()
	var wire []string
	for _, raw := range messages {
		codec := transcript.OpenCode{}
		patched, err := render.Apply(raw, patches[codec.Decode(raw).Key])
		if err != nil {
			t.Fatal(err)
		}
		m := codec.Decode(patched)
		w := render.WireMessageOf(&m)
		var b bytes.Buffer
		for _, block := range w.Blocks {
			fmt.Fprintf(&b, "%s %q %s %s %s %q %s %v\n", block.Kind, block.Text, block.ID, block.Name, block.Input, block.Raw, block.Signature, block.IsError)
		}
		if len(w.Blocks) > 0 {
			wire = append(wire, string(w.Role)+"\n"+b.String())
		}
	}
	return wire
}

func (f *sideSession) snapshot() store.Snapshot {
	f.h.t.Helper()
	snap, found, err := f.h.store.Load(f.h.t.Context(), store.Key{Harness: "opencode", Session: f.id})
	if err != nil || !found {
		f.h.t.Fatalf("found %t, %v", found, err)
	}
	return snap
}

func worked(t testing.TB) *harness {
	h := newHarness(t)
	n := 0
	for turn := range 8 {
		h.user(fmt.Sprintf("u%d", turn), "go on")
		h.pass()
		for step := range 5 {
			n++
			finish := "tool-calls"
			if step == 4 {
				finish = "stop"
			}
			h.clock.Advance(time.Second)
			h.tool(fmt.Sprintf("a%d", n), strings.Repeat(fmt.Sprintf("line %d ", n), 400), finish, 20_000+n*1000)
			if n == 12 {
				h.drop("call-1", "3-9")
				h.flush()
			}
			if step < 4 {
				h.pass()
			}
		}
	}
	h.user("u9", "more")
	h.pass()
	h.drop("call-2", "20-22")
	return h
}

// Defect D5 (docs/defects.md): a fork begins with its original's wire, byte for byte. Without the original's edits,
// all dropped content would come back.
func TestDefectD5ForkBeginsWithTheWireOfItsOriginal(t *testing.T) {
	for _, at := range []string{"the end", "the middle", "before the drops"} {
		t.Run(at, func(t *testing.T) {
			h := worked(t)
			n := map[string]int{"the end": len(h.messages), "the middle": 25, "before the drops": 7}[at]
			want := wireOf(t, h.messages[:n], h.patches)
			if at != "before the drops" && !strings.Contains(strings.Join(want, ""), "[dropped §") {
				t.Fatal("nothing was dropped")
			}
			before := h.snapshot()
			f := h.fork("ses_2", n)
			f.user("f1", "try otherwise")
			if m := f.pass(); m.Verdict != schema.Steady {
				t.Errorf("the first pass of the fork is %s (%s): its prefix is alive", m.Verdict, m.Cause)
			}
			got := wireOf(t, f.messages, f.patches)
			if !slices.Equal(got[:len(want)], want) {
				t.Errorf("wire of the original:\n%s\nof the fork:\n%s", want, got)
			}
			if len(got) != len(want)+1 || !strings.Contains(got[len(want)], "try otherwise") {
				t.Errorf("%d messages, want one more than %d", len(got), len(want))
			}
			h.restart() // everything comes from the store
			f.user("f2", "and again")
			f.pass()
			if again := wireOf(t, f.messages, f.patches); !slices.Equal(again[:len(got)], got) {
				t.Errorf("after a restart:\n%s\nbefore:\n%s", again, got)
			}
			for i, u := range f.snapshot().Units {
				if i > 0 && f.snapshot().Units[i-1].Tag >= u.Tag {
					t.Fatalf("tags do not ascend: %+v", f.snapshot().Units)
				}
				if strings.HasPrefix(u.MessageKey, "a") || strings.HasPrefix(u.MessageKey, "u") {
					t.Errorf("unit %d belongs to %s, a message of the original", u.Tag, u.MessageKey)
				}
			}
			if after := h.snapshot(); !equalSnapshots(before, after) {
				t.Errorf("the original was changed")
			}
		})
	}
}

func equalSnapshots(a, b store.Snapshot) bool {
	return a.Session == b.Session && slices.Equal(a.Units, b.Units) && slices.Equal(a.Edits, b.Edits) && slices.Equal(a.Queued, b.Queued)
}

// The fork's first bust applies the drops that are queued in the original.
func TestForkInheritsQueuedDrops(t *testing.T) {
	h := worked(t)
	f := h.fork("ses_2", len(h.messages))
	f.user("f1", "try otherwise")
	f.pass()
	var tags []int
	for _, q := range f.snapshot().Queued {
		tags = append(tags, q.Tag)
	}
	if !slices.Equal(tags, []int{20, 21, 22}) {
		t.Errorf("queued in the fork: %v", tags)
	}
	if _, err := h.host.CommandExecute(t.Context(), h, schema.CommandExecuteParams{Session: "ses_2", Command: "ctx-flush"}); err != nil {
		t.Fatal(err)
	}
	f.user("f2", "now")
	f.pass()
	if got := strings.Join(wireOf(t, f.messages, f.patches), ""); strings.Contains(got, "§21§") {
		t.Error("not dropped")
	}
	if len(h.snapshot().Queued) != 3 {
		t.Error("the original's queue was drained")
	}
}

// The fork's system prompt keeps the original's date.
func TestForkKeepsTheSystemPrompt(t *testing.T) {
	h := turn(t)
	first := h.ask("A\nToday's date: 1")
	f := h.fork("ses_2", len(h.messages))
	f.user("f1", "more")
	f.pass()
	h.restart()
	f.user("f2", "more")
	f.pass()
	r, err := h.host.System(t.Context(), h, schema.SystemParams{Session: "ses_2", Directory: "/p", System: []string{"A\nToday's date: 2"}})
	if err != nil || ownPrompt(r.System[0]) != first {
		t.Errorf("%q, %v; want %q", r.System, err, first)
	}
}

// Bound thinking is valid only after an unchanged prompt. A fork does not change the prompt, so the original's thinking
// stays valid in the fork, unless a bust has already removed it.
func TestForkKeepsBoundThinking(t *testing.T) {
	h := binding(t)
	for i := range 5 {
		h.think(fmt.Sprintf("a%d", i), fmt.Sprintf("output %d", i), 1000)
		h.pass()
	}
	h.drop("d1", "4") // a2's call
	h.flush()
	h.pass()
	h.wantThinking("after the bust", "a0", "a1", "a2")
	for _, restarts := range []bool{false, true} {
		f := h.fork(fmt.Sprintf("ses_%t", restarts), len(h.messages))
		if restarts {
			h.restart()
		}
		f.user("f1", "try otherwise")
		f.pass()
		want, got := wireOf(t, h.messages, h.patches), wireOf(t, f.messages, f.patches)
		if thoughts := strings.Count(strings.Join(want, ""), "sig-"); thoughts != 3 {
			t.Fatalf("%d thoughts in the original", thoughts)
		}
		if !slices.Equal(got[:len(want)], want) {
			t.Errorf("wire of the original:\n%s\nof the fork:\n%s", want, got)
		}
		h.restart()
		f.user("f2", "and again")
		f.pass()
		if again := wireOf(t, f.messages, f.patches); !slices.Equal(again[:len(got)], got) {
			t.Errorf("after a restart:\n%s\nbefore:\n%s", again, got)
		}
	}
}

// A fork may contain answers that no pass has seen. Then nobody knows which prompt each of them answered. The harness
// may have sent the raw array, or a wire with a head that is lost now. So the host must not use the usages of these
// answers to estimate the size of the prompt.
func TestForkDistrustsUsagesOfUnknownWires(t *testing.T) {
	for name, c := range map[string]struct{ words, usage, least, most int }{
		"of a head that is lost": {4_000, 2_000, 50_000, 200_000},
		"of the raw array":       {100, 160_000, 20_000, 80_000},
	} {
		t.Run(name, func(t *testing.T) {
			h := worked(t)
			f := h.fork("ses_2", len(h.messages))
			h.messages = nil
			for i := range 20 {
				h.clock.Advance(time.Second)
				h.tool(fmt.Sprintf("b%d", i), strings.Repeat("line ", c.words), "tool-calls", c.usage)
			}
			f.messages = append(f.messages, h.messages...)
			f.user("f1", "go on")
			f.pass()
			st, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: "opencode", Session: f.id})
			if err != nil || st.SizeTokens < c.least || st.SizeTokens > c.most {
				t.Errorf("the prompt has %d tokens, %v; want %d to %d", st.SizeTokens, err, c.least, c.most)
			}
		})
	}
}

func TestForksOfForks(t *testing.T) {
	h := worked(t)
	n := len(h.messages)
	want := wireOf(t, h.messages, h.patches)
	a := h.fork("ses_2", n)
	a.user("f1", "one way")
	a.pass()
	b := h.fork("ses_3", n)
	b.user("f2", "the other way")
	b.pass()
	c := &sideSession{h: h, id: "ses_4"}
	for i, raw := range a.messages {
		c.messages = append(c.messages, copied(t, raw, "ses_4", i))
	}
	c.user("f3", "and on")
	c.pass()
	for name, f := range map[string]*sideSession{"first": a, "second": b, "fork of the first": c} {
		if got := wireOf(t, f.messages, f.patches); !slices.Equal(got[:len(want)], want) {
			t.Errorf("the wire of the %s is another one", name)
		}
	}
	if got, want := wireOf(t, c.messages, c.patches)[:n+1], wireOf(t, a.messages, a.patches); !slices.Equal(got, want) {
		t.Errorf("the fork of the fork begins otherwise:\n%s\nwant\n%s", got[n:], want[n:])
	}
}

// ses_2 is a fork of the first session, and the harness has compacted ses_2. Then the user forks ses_2. Judged by the
// messages, the first session looks more like the original, because it still has more of the copied messages. But if
// the harness says that ses_2 is the original, the new fork must take over the decisions of ses_2.
func TestForkOfAForkTakesTheOriginalThatTheHarnessNames(t *testing.T) {
	h := worked(t)
	a := h.fork("ses_2", len(h.messages))
	a.messages = a.messages[4:]
	a.pass()
	for named, want := range map[string]string{"": testSession, "ses_2": "ses_2", "ses_unknown": testSession} {
		c := h.fork("ses_3_"+named, len(h.messages))
		original, copied, err := h.host.sessions.Original(t.Context(), store.Key{Harness: "opencode", Session: c.id}, named, "/p",
			pipeline.OutlineOf(transcript.OpenCode{}, c.messages))
		if err != nil || len(copied.Units) == 0 || original.Session.Key.Session != want {
			t.Errorf("named %q: the original is %q, %v; want %q", named, original.Session.Key.Session, err, want)
		}
	}
}

// A session that only resembles another one inherits nothing from it. A copy inherits decisions only about the messages
// before the first one that differs.
func TestOnlyCopiesInherit(t *testing.T) {
	replaced := func(place int, old, changed string) func(*sideSession) {
		return func(f *sideSession) {
			f.messages[place] = json.Value(strings.Replace(string(f.messages[place]), old, changed, 1))
		}
	}
	everywhere := func(old, changed string) func(*sideSession) {
		return func(f *sideSession) {
			for i := range f.messages {
				replaced(i, old, changed)(f)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*sideSession)
		units  int // units that the session inherits
	}{
		{"a copy", func(*sideSession) {}, 6},
		{"another text", replaced(0, "find it", "find him"), 5},
		{"other times", everywhere(`"created":17`, `"created":16`), 0},
		{"no times", everywhere(`"created":`, `"ignored":`), 0},
		{"another call in the middle", replaced(3, `"callID":"c-a3"`, `"callID":"c-a2"`), 5},
		{"another order", func(f *sideSession) { slices.Reverse(f.messages[:3]) }, 6},
		{"an output that was pruned later", replaced(1, `"output":`, `"time":{"compacted":5},"output":`), 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			h.user("u1", "find it")
			h.pass()
			for i := 1; i <= 4; i++ {
				h.clock.Advance(time.Second)
				h.tool(fmt.Sprintf("a%d", i), found, "tool-calls", 1000)
				h.pass()
			}
			h.clock.Advance(time.Second)
			h.user("u2", "thanks")
			h.pass()
			f := h.fork("ses_2", len(h.messages))
			c.change(f)
			_, copied, err := h.host.sessions.Original(t.Context(), store.Key{Harness: "opencode", Session: f.id}, "", "/p",
				pipeline.OutlineOf(transcript.OpenCode{}, f.messages))
			if err != nil || len(copied.Units) != c.units {
				t.Errorf("%d units, %v; want %d", len(copied.Units), err, c.units)
			}
		})
	}
}

// In some sessions, the tags do not follow the order of the messages, or the newest pass has not seen all messages. A
// fork must begin with its original's wire even then.
func TestForkOfASessionWhoseTagsAreOutOfOrder(t *testing.T) {
	late := func(h *harness) { // the text of the aborted answer is stored late
		h.messages[2] = json.Value(strings.Replace(string(h.messages[2]), `"parts":[`, `"parts":[{"id":"late","type":"text","text":"what the model had said"}`, 1))
	}
	compact := func(h *harness) { // the user's own compaction keeps the second turn
		begin := len(h.messages)
		h.clock.Advance(time.Second)
		now := h.clock.Now()
		h.add(`{"info":{"id":"compaction","sessionID":"ses_1","role":"user","time":{"created":%d}},"parts":[{"id":"p","type":"compaction","auto":false}]}`, now)
		h.add(`{"info":{"id":"compacted","sessionID":"ses_1","role":"assistant","parentID":"compaction","summary":true,"finish":"stop","time":{"created":%d,"completed":%d}},"parts":[{"id":"q","type":"text","text":"The user found it."}]}`, now, now)
		h.messages = slices.Concat(h.messages[begin:], h.messages[3:begin])
	}
	for _, c := range []struct {
		name   string
		change func(*harness)
	}{{"a late text", late}, {"a compaction that keeps turns", compact}} {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, seen by the original: %t", c.name, seen), func(t *testing.T) {
				h := newHarness(t)
				h.user("u1", "find it")
				h.pass()
				h.clock.Advance(time.Second)
				h.tool("a1", found, "tool-calls", 1000)
				h.pass()
				h.clock.Advance(time.Second)
				h.add(`{"info":{"id":"aborted","sessionID":"ses_1","role":"assistant","time":{"created":%d},"error":{"name":"MessageAbortedError","data":{}}},"parts":[]}`, h.clock.Now())
				h.user("u2", "now this")
				for i := range 8 {
					h.clock.Advance(time.Second)
					h.tool(fmt.Sprintf("b%d", i), strings.Repeat("line ", 400), "tool-calls", 1000)
					h.pass()
				}
				h.drop("call-1", "3-7")
				h.flush()
				h.pass()
				c.change(h)
				if seen {
					h.revision, h.told = 0, 0
					h.pass()
				}
				h.clock.Advance(time.Second)
				dropped := strings.Count(fmt.Sprint(wireOf(t, h.messages, h.patches)), "[dropped §")
				if dropped == 0 {
					t.Fatal("nothing was dropped")
				}
				f := h.fork("ses_2", len(h.messages))
				f.user("f1", "otherwise")
				f.pass()
				if got := strings.Count(fmt.Sprint(wireOf(t, f.messages, f.patches)), "[dropped §"); got != dropped {
					t.Errorf("%d pieces are dropped in the fork, %d in its original", got, dropped)
				}
			})
		}
	}
}

// If the user types a prompt while the model works, OpenCode wraps the prompt in a reminder for one step. Later
// requests, and the copy in a fork, contain the prompt as the user typed it. The fork must recognise it as the same
// unit.
func TestForkAfterAWrappedPrompt(t *testing.T) {
	h := turn(t)
	plain := len(h.messages)
	h.user("u3", "and the other one?")
	typed := h.messages[plain]
	h.messages[plain] = json.Value(strings.Replace(string(typed), "and the other one?", "<system-reminder>and the other one?</system-reminder>", 1))
	h.pass()
	h.messages[plain], h.told = typed, plain
	h.tool("a4", "four", "stop", 1000)
	h.user("u4", "thanks")
	h.pass()
	h.restart()
	f := h.fork("ses_2", len(h.messages))
	f.user("f1", "go on")
	f.pass()
	want := h.snapshot().Units
	got := f.snapshot().Units
	for i := range want {
		if got[i].Tag != want[i].Tag || got[i].Fingerprint != want[i].Fingerprint {
			t.Errorf("unit %d: %+v, want %+v", i, got[i], want[i])
		}
	}
	if f.last.Verdict != schema.Steady {
		t.Errorf("%s (%s)", f.last.Verdict, f.last.Cause)
	}
}

// Two subagents that start together begin with the same messages, but neither is a fork.
func TestSubagentsInheritNothing(t *testing.T) {
	h := worked(t)
	f := h.fork("ses_2", len(h.messages))
	if _, err := f.transform(testSession); err != nil {
		t.Fatal(err)
	}
	if got := f.snapshot(); len(got.Edits) > 0 && got.Edits[0].Tag == 3 || got.Session.Epoch != 1 {
		t.Errorf("inherited: epoch %d", got.Session.Epoch)
	}
}

// Even while the database is locked, a fork begins with its original's wire. The next pass stores the fork.
func TestForkWhileTheDatabaseIsBusy(t *testing.T) {
	for _, isCalled := range []bool{false, true} { // a call of ctx_reduce stores the units before the first pass
		h := worked(t)
		want := wireOf(t, h.messages, h.patches)
		f := h.fork("ses_2", len(h.messages))
		f.user("f1", "try otherwise")
		h.host.guard.Patience = 10 * time.Millisecond
		release := lockDatabase(t, h)
		f.pass()
		first := wireOf(t, f.messages, f.patches)
		release()
		h.host.guard.Patience = commitTimeout
		if !slices.Equal(first[:len(want)], want) {
			t.Errorf("the wire is another one while the database is busy")
		}
		if isCalled {
			if _, err := h.host.ToolExecute(t.Context(), h, schema.ToolExecuteParams{Session: f.id, Directory: "/p", Tool: "ctx_reduce", CallID: "call-f", Args: json.Value(`{"drop":"45"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		h.restart()
		f.user("f2", "and again")
		f.pass()
		if got := wireOf(t, f.messages, f.patches); !slices.Equal(got[:len(first)], first) {
			t.Errorf("wire:\n%s\nwant:\n%s", got, first)
		}
	}
}

func lockDatabase(t *testing.T, h *harness) (release func()) {
	t.Helper()
	other, err := sql.Open("sqlite3", "file:"+filepath.ToSlash(filepath.Join(h.dir, "magicctx.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	lock, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if _, err := lock.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		lock.Close()
	}
}

func TestForkBeginsLikeItsOriginal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHarness(t)
		defer h.store.Close()
		n := 0
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			n++
			h.user(fmt.Sprintf("u%d", n), rapid.SampledFrom([]string{"go on", "again", "§5§ BGB"}).Draw(rt, "prompt"))
			h.pass()
			for range rapid.IntRange(1, 5).Draw(rt, "steps") {
				n++
				if rapid.Bool().Draw(rt, "later") {
					h.clock.Advance(time.Second)
				}
				h.tool(fmt.Sprintf("a%d", n), strings.Repeat("x ", rapid.IntRange(1, 3000).Draw(rt, "output")), "tool-calls", rapid.IntRange(1000, 90_000).Draw(rt, "prompt tokens"))
				h.pass()
			}
			if counter := h.snapshot().Session.TagCounter; rapid.Bool().Draw(rt, "drops") {
				h.drop(fmt.Sprintf("call-%d", n), fmt.Sprint(rapid.IntRange(1, counter).Draw(rt, "drop")))
			}
			if rapid.IntRange(0, 3).Draw(rt, "flush") == 0 {
				h.flush()
				h.pass()
			}
		}
		at := rapid.IntRange(1, len(h.messages)).Draw(rt, "fork at")
		f := h.fork("ses_2", at)
		f.user("f1", "otherwise")
		f.pass()
		if f.last.Cause == "first-pass" {
			rt.Fatal("the fork knows no original")
		}
		if f.last.Verdict != schema.Steady {
			return // the fork now decides under its own pressure
		}
		want, got := wireOf(t, h.messages[:at], h.patches), wireOf(t, f.messages, f.patches)
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			rt.Fatalf("the fork at %d begins otherwise:\n%s\nwant:\n%s", at, got, want)
		}
	})
}

// The user forks the original before a pass has seen its newest answer. The answer's thinking must stay valid in the
// fork if an event has told the host about the answer, and if the fork contains the same prompt as the original.
func TestForkDirectlyAfterAnAnswerKeepsItsThinking(t *testing.T) {
	for _, c := range []struct {
		name  string
		cut   int // messages that the fork does not copy
		tell  bool
		other bool // another answer takes the place of the copied one
		// `compacts` means that the harness compacts the original after the answer. The fork begins before this
		// compaction.
		compacts bool
		want     []string
	}{
		{"the answer is the newest message", 0, true, false, false, []string{"sig-a0", "sig-a1"}},
		{"the host was not told of it", 0, false, false, false, []string{"sig-a0"}},
		{"it is not copied", 1, true, false, false, []string{"sig-a0"}},
		{"its prompt is not copied, and another answer follows", 2, true, true, false, nil},
		{"the harness compacts after it", 0, true, false, true, []string{"sig-a0", "sig-a1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := binding(t)
			h.think("a0", "output", 1000)
			h.pass()
			h.clock.Advance(time.Second)
			h.think("a1", "more output", 1000) // no pass sees this answer
			if c.tell {
				h.event(`{"type":"message.updated","properties":{"sessionID":"ses_1","info":%s}}`, infoOf(t, h.messages[len(h.messages)-1]))
			}
			want := wireOf(t, h.messages[:2], h.patches)
			if c.compacts {
				before := h.messages
				h.messages = nil
				h.clock.Advance(time.Second)
				h.add(`{"info":{"id":"c","sessionID":"ses_1","role":"user","time":{"created":%d}},"parts":[{"id":"pc","type":"compaction","auto":false}]}`, h.clock.Now())
				h.add(`{"info":{"id":"s","sessionID":"ses_1","role":"assistant","summary":true,"mode":"compaction","agent":"compaction","parentID":"c","time":{"created":%d,"completed":%[1]d},"finish":"stop"},"parts":[{"id":"ps","type":"text","text":"They went."}]}`, h.clock.Now())
				h.user("u2", "go on")
				h.pass()
				h.messages = before
			}
			f := h.fork("ses_2", len(h.messages)-c.cut)
			if c.other {
				f.h.clock.Advance(time.Second)
				before := h.messages
				h.messages = nil
				h.think("a7", "other output", 1000)
				f.messages, h.messages = append(f.messages, h.messages...), before
			}
			h.restart()
			f.user("f1", "try otherwise")
			if m := f.pass(); m.Verdict != schema.Steady {
				t.Errorf("the first pass of the fork is %s (%s)", m.Verdict, m.Cause)
			}
			got := wireOf(t, f.messages, f.patches)
			if !c.other && !slices.Equal(got[:len(want)], want) {
				t.Errorf("wire of the original:\n%s\nof the fork:\n%s", want, got)
			}
			var thoughts []string
			for _, sig := range []string{"sig-a0", "sig-a1", "sig-a7"} {
				if strings.Contains(strings.Join(got, ""), sig) {
					thoughts = append(thoughts, sig)
				}
			}
			if !slices.Equal(thoughts, c.want) {
				t.Errorf("the thinking %v is sent, want %v", thoughts, c.want)
			}
			h.restart()
			f.user("f2", "and again")
			f.pass()
			if again := wireOf(t, f.messages, f.patches); !slices.Equal(again[:len(got)], got) {
				t.Errorf("after a restart:\n%s\nbefore:\n%s", again, got)
			}
		})
	}
}
