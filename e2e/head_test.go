package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/work"
)

// The head replaces the oldest messages of a session. Restarts of the host, a second publication, a copy and a revert
// must not damage it.
func TestHead(t *testing.T) {
	suite.OnlyWithAll(t, "Pi has this session, and TestLongHistory a head in OpenCode")
	testHead(t, schema.HarnessOpenCode)
}

const turnMessages = 3

func testHead(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	w := newWorldOf(t, h, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.mock.AddRule(mockllm.Rule{Name: "title", Match: mockllm.Model("claude-mini-5-0"), Answer: mockllm.Always(mockllm.Say("A question"))})
	options := w.withPlugin()
	traces := filepath.Join(w.root, "trace")
	options.Env = append(options.Env, "MAGICCTX_TRACE="+traces)
	a := w.launch(options)
	session := w.untitled(a)
	k := &headKeeper{world: w, agent: a, session: session}

	for turn := 1; turn <= 4; turn++ {
		k.turn(turn)
	}
	k.publish(1, 2)
	k.flush()
	k.turn(5)
	folded := k.newest()
	k.checkHead(folded, []int{1, 2}, nil)

	k.publish(3)
	k.turn(6) // the new summary is shown only after the next bust; a restart of the host does not change this
	before := k.newest()
	k.checkSamePrefix(folded, before)
	k.flush()
	k.turn(7)
	extended := k.firstOf(7)
	k.checkHead(extended, []int{1, 2}, []int{3})
	if want := tokensThroughHead(folded); extended.Simulated.Read != want || before.Simulated.Read <= want {
		t.Errorf("request %d reads %d tokens from the cache, want the %d up to the acknowledgement; the request before read %d",
			extended.Seq, extended.Simulated.Read, want, before.Simulated.Read)
	}
	w.killHost()
	if oc, ok := a.(*agent.OpenCode); ok { // a revert that is taken back changes nothing
		if err := errors.Join(a.GoBack(w.ctx, session, promptOf(2)), oc.Unrevert(w.ctx, session)); err != nil {
			t.Fatal(err)
		}
	}
	k.turn(8)
	k.checkSamePrefix(extended, k.newest())

	copied, err := a.Copy(w.ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	c := &headKeeper{world: w, agent: a, session: copied}
	c.turn(9)
	k.checkSamePrefix(k.newest(), c.firstOf(9))
	k.checkHead(c.newest(), []int{1, 2}, []int{3})

	leaf := ""
	if pi, ok := a.(*agent.Pi); ok {
		if leaf, err = pi.Leaf(w.ctx, session); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.GoBack(w.ctx, session, promptOf(2)); err != nil {
		t.Fatal(err)
	}
	k.turn(10)
	reverted := k.newest()
	k.checkHead(reverted, []int{1}, nil, 1)
	for _, gone := range []int{2, 3, 4, 8} {
		w.wantInBody(reverted, promptOf(gone), false)
	}
	if pi, ok := a.(*agent.Pi); ok { // the other branch is still there, and so are its summaries
		if err := pi.GoTo(w.ctx, session, leaf); err != nil {
			t.Fatal(err)
		}
		k.turn(11)
		k.checkHead(k.newest(), []int{1, 2, 3}, nil)
		w.wantInBody(k.newest(), promptOf(10), false)
	}
	if h == schema.HarnessOpenCode {
		if title := w.only("title"); !strings.Contains(string(title.Body), promptOf(1)) || strings.Contains(string(title.Body), history.Acknowledgement) {
			t.Errorf("OpenCode asks for a title with %s", title.Body)
		}
	}

	w.stop(a)
	w.stopHost()
	for _, id := range []string{session, copied} {
		checkBusts(t, w.requests(id), w.journal(id))
		checkCache(t, w.requests(id), w.journal(id))
	}
	w.checkReplays(traces)
}

// Without a title, OpenCode asks the model for one.
func (w *world) untitled(a agent.Agent) string {
	w.t.Helper()
	oc, ok := a.(*agent.OpenCode)
	if !ok {
		return w.session(a)
	}
	s, err := oc.CreateSession(w.ctx, opencodetest.NewSession{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s.ID
}

func (w *world) killHost() {
	w.t.Helper()
	status, err := w.user.Status(w.ctx)
	if errors.Is(err, stage.ErrNoHost) {
		return
	}
	if err == nil {
		err = stage.End(w.ctx, status.PID, os.Kill)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A headKeeper plays the turns of a session. It also publishes summaries, as the historian would.
type headKeeper struct {
	*world
	agent   agent.Agent
	session string
	first   map[int]*mockllm.Request // by turn: the first request of the turn
	marks   bool                     // whether a publication asks for a compaction marker
	further int                      // how many messages of the next turn the last compartment of a publication also contains
}

func promptOf(turn int) string { return fmt.Sprintf("Prompt number %d.", turn) }

// The summaries of the first two turns are long, so that the baseline is much larger than the delta.
func summaryOf(turn int) string {
	sentences := 5
	if turn <= 2 {
		sentences = 100
	}
	return fmt.Sprintf("Summary of turn %d.%s", turn, strings.Repeat(" The user asked, the file was read.", sentences))
}

func (k *headKeeper) turn(n int) {
	k.t.Helper()
	if k.first == nil {
		k.first = map[int]*mockllm.Request{}
		k.play(k.session, k.answers()...)
	}
	before := len(k.requests(k.session))
	k.prompt(k.agent, k.session, promptOf(n))
	requests := k.requests(k.session)[before:]
	if len(requests) != turnMessages-1 {
		k.t.Fatalf("turn %d has %d requests", n, len(requests))
	}
	k.first[n] = requests[0]
	for _, r := range requests {
		checkRequest(k.t, r)
	}
	k.checkSamePrefix(requests[0], requests[1])
}

func (k *headKeeper) answers() (all []mockllm.Step) {
	for i := range 12 {
		all = append(all, k.readNotes(fmt.Sprintf("toolu_%s_%d", k.session[len(k.session)-4:], i)), mockllm.Say(fmt.Sprintf("It is 41, answer %d.", i)))
	}
	return all
}

func (k *headKeeper) newest() *mockllm.Request { return k.last(k.session) }

func (k *headKeeper) firstOf(turn int) *mockllm.Request { return k.first[turn] }

func (k *headKeeper) flush() {
	k.t.Helper()
	if err := k.agent.Command(k.ctx, k.session, "ctx-flush"); err != nil {
		k.t.Fatal(err)
	}
}

// openStore kills the host and opens the store. The shim may start a new host in between, and openStore kills that
// host, too.
func (w *world) openStore() *store.Store {
	w.t.Helper()
	for {
		w.killHost()
		s, err := store.Open(w.ctx, store.Options{Dir: w.user.DataDir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
		if err == nil {
			return s
		}
		if w.ctx.Err() != nil || !errors.Is(err, file.ErrLocked) {
			w.t.Fatal(err)
		}
	}
}

// A host that starts while the test has the store open cannot open the store, and it does not try again. So awaitHost
// kills such hosts until the shim has started a host that works.
func (w *world) awaitHost() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		status, err := w.user.Status(w.ctx)
		switch {
		case err == nil && status.Enabled:
			return
		case err == nil:
			w.killHost()
		case !errors.Is(err, stage.ErrNoHost): // the shim starts a host
			w.t.Error(err)
			return
		}
	}
	w.t.Error("no host serves")
}

func (k *headKeeper) publish(turns ...int) {
	k.t.Helper()
	s := k.openStore()
	defer k.awaitHost()
	defer s.Close()
	key := store.Key{Harness: string(k.harness), Session: k.session}
	snap, _, err := s.Load(k.ctx, key)
	if err != nil {
		k.t.Fatal(err)
	}
	var keys []string // the keys of the messages, each of which has a unit
	for _, u := range snap.Units {
		if !slices.Contains(keys, u.MessageKey) {
			keys = append(keys, u.MessageKey)
		}
	}
	p := store.Publication{Key: key, Holder: "the test", Run: work.RunRow{Kind: "incremental"}}
	if _, err := s.Leases.Acquire(k.ctx, store.HistorianOf(key), p.Holder); err != nil {
		k.t.Fatal(err)
	}
	if _, p.After, err = s.History.Compartments(k.ctx, key); err != nil {
		k.t.Fatal(err)
	}
	for i, turn := range turns {
		from, to := (turn-1)*turnMessages, turn*turnMessages-1
		if i == len(turns)-1 {
			to += k.further
		}
		p.Compartments = append(p.Compartments, chronicle.Compartment{
			Start: from + 1, End: to + 1, Keys: keys[from : to+1], Title: fmt.Sprintf("turn %d", turn),
			Tiers: [4]string{summaryOf(turn), summaryOf(turn)}, Importance: 100, MadeBy: "model",
		})
		if k.marks {
			p.Marker = fmt.Sprintf(`{"endMessageId":%q,"ordinal":%d,"publishedAt":1}`, keys[to], to+1)
		}
	}
	if err := s.History.Publish(k.ctx, p); err != nil {
		k.t.Fatal(err)
	}
}

func (k *headKeeper) checkHead(r *mockllm.Request, baseline, delta []int, pinned ...int) {
	k.t.Helper()
	texts := []string{textAt(r, 0, 0), textAt(r, 1, 0), deltaOf(r)}
	if texts[1] != history.Acknowledgement {
		k.t.Fatalf("the second message of request %d is %q", r.Seq, texts[1])
	}
	for turn := 1; turn <= 3; turn++ {
		for i, shown := range map[int][]int{0: baseline, 2: delta} {
			if got := strings.Contains(texts[i], summaryOf(turn)); got != slices.Contains(shown, turn) {
				k.t.Errorf("request %d: message %d of the head shows turn %d: %v", r.Seq, i, turn, got)
			}
		}
		if slices.Contains(baseline, turn) || slices.Contains(delta, turn) {
			k.wantInBody(r, promptOf(turn), slices.Contains(pinned, turn))
		}
	}
	k.checkHeadBreakpoints(r)
}

// checkHeadBreakpoints fails if the head's second message, the acknowledgement, has no breakpoint, or if a breakpoint
// of the harness is gone.
func (w *world) checkHeadBreakpoints(r *mockllm.Request) {
	w.t.Helper()
	want := []string{"system[0]", "messages[1].content[0]:assistant"}
	if w.harness == schema.HarnessPi {
		want = append([]string{fmt.Sprintf("tools[%d]", len(r.Tools)-1)}, want...)
	} else {
		want = append(want, r.Blocks[lastOfMessage(r, len(r.Messages)-2)].Where)
	}
	want = append(want, r.Blocks[len(r.Blocks)-1].Where)
	if got := r.Breakpoints(); !slices.Equal(got, want) {
		w.t.Errorf("request %d has breakpoints at %v, want %v", r.Seq, got, want)
	}
}

func lastOfMessage(r *mockllm.Request, message int) int {
	return slices.IndexFunc(r.Blocks, func(b mockllm.PromptBlock) bool {
		return strings.HasPrefix(b.Where, fmt.Sprintf("messages[%d].content[%d]", message, len(r.Messages[message].Content)-1))
	})
}

func (k *headKeeper) checkSamePrefix(a, b *mockllm.Request) {
	k.t.Helper()
	if where, ok := extends(a, b); !ok {
		k.t.Errorf("request %d begins otherwise than request %d: %s", b.Seq, a.Seq, where)
	}
}

func tokensThroughHead(r *mockllm.Request) int {
	return r.TokensThrough(lastOfMessage(r, 1))
}

// deltaOf returns only the first block, because a provider may join the head's third message with the next message.
func deltaOf(r *mockllm.Request) string { return textAt(r, 2, 0) }

func textAt(r *mockllm.Request, message, content int) string {
	if message >= len(r.Messages) || content >= len(r.Messages[message].Content) {
		return ""
	}
	return r.Messages[message].Content[content].Text
}

// checkReplays fails if a replay of a recorded trace sends a different wire than the recorded host did. It needs
// several traces: only a trace that was recorded later begins with a head.
func (w *world) checkReplays(traces string) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(traces, "*.jsonl"))
	if err != nil || len(paths) < 2 {
		w.t.Fatalf("traces %v: %v", paths, err)
	}
	headed := 0
	for _, path := range paths {
		trace, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		var recorded, replayed []string
		err = replay.Recorded(bytes.NewReader(trace), func(_ string, _, wire []json.Value) error {
			recorded = append(recorded, joined(wire))
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		report, err := replay.Run(w.ctx, bytes.NewReader(trace), replay.Options{AsRecorded: true, Watch: func(s replay.Sent) {
			_, wire, err := s.Arrays()
			if err != nil {
				w.t.Error(err)
			}
			replayed = append(replayed, joined(wire))
		}})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(report.Missing) > 0 || len(report.InvariantViolations) > 0 {
			w.t.Errorf("%s lacks %v, the replay violates %v", filepath.Base(path), report.Missing, report.InvariantViolations)
		}
		if len(recorded) != len(replayed) {
			w.t.Fatalf("%s: %d passes were recorded, %d replayed", filepath.Base(path), len(recorded), len(replayed))
		}
		for i := range recorded {
			if recorded[i] != replayed[i] {
				w.t.Errorf("%s: pass %d of the replay has another wire:\n%.600s\nrecorded:\n%.600s", filepath.Base(path), i+1, replayed[i], recorded[i])
			}
			if strings.Contains(recorded[i], transcript.BaselineKey) {
				headed++
			}
		}
	}
	if headed == 0 {
		w.t.Error("no recorded wire has a head")
	}
}

func joined(wire []json.Value) string {
	var b strings.Builder
	for _, m := range wire {
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.String()
}
