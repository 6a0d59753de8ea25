package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/judge"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

var piShorts = []shortCase{
	{name: "a reload of the extensions", test: reload},
	{name: "another session and back", test: switchAndBack},
	{name: "a fork from the middle", test: forkEarlier},
	{name: "a branch with a summary of the other", test: branchSummary},
	{name: "a command of the user's shell", test: userBash},
}

func TestPiShortSessions(t *testing.T) {
	testShortSessions(t, schema.HarnessPi, slices.Concat(shorts, piShorts))
}

func (w *world) wantExtended(session string) {
	w.t.Helper()
	requests := w.requests(session)
	for i := range requests[1:] {
		if where, ok := extends(requests[i], requests[i+1]); !ok {
			w.t.Errorf("request %d of session %s does not extend the one before: %s", i+1, session, where)
		}
	}
}

func reload(w *world, a agent.Agent) string {
	p := a.(*agent.Pi)
	session := w.session(p)
	w.play(session, w.readNotes("toolu_reload1"), mockllm.Say("41."), w.readNotes("toolu_reload2"), mockllm.Say("Still 41."))
	w.prompt(p, session, "Read the notes.")
	if err := p.Reload(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	w.prompt(p, session, "Again.")
	w.wantExtended(session)
	return session
}

func switchAndBack(w *world, a agent.Agent) string {
	var sessions [2]string
	for i := range sessions {
		sessions[i] = w.session(a)
		w.play(sessions[i], w.readNotes("toolu_switch1"), mockllm.Say("41."), mockllm.Say("Yes."), mockllm.Say("Really."))
		w.prompt(a, sessions[i], "Read the notes.") // Pi can only return to a session that has an answer
	}
	for _, text := range []string{"Sure?", "Really?"} {
		for _, session := range sessions {
			w.prompt(a, session, text)
		}
	}
	for _, session := range sessions {
		w.wantExtended(session)
		checkTags(w.t, w.requests(session))
	}
	return sessions[0]
}

func forkEarlier(w *world, a agent.Agent) string {
	p := a.(*agent.Pi)
	original := w.session(p)
	w.play(original, w.readNotes("toolu_early1"), mockllm.Say("41."), mockllm.Say("Green."))
	w.prompt(p, original, "Read the notes.")
	w.prompt(p, original, "Name a colour.")
	fork, err := p.CopyUntil(w.ctx, original, "Name a colour.")
	if err != nil {
		w.t.Fatal(err)
	}
	w.play(fork, mockllm.Say("A square."), mockllm.Say("Yes."))
	w.prompt(p, fork, "Name a shape.")
	before, first := w.requests(original)[1], w.last(fork)
	if where, ok := extends(before, first); !ok {
		w.t.Errorf("the fork begins otherwise than its original: %s", where)
	}
	w.wantInBody(first, "Name a colour.", false)
	w.prompt(p, fork, "Sure?")
	w.wantExtended(fork)
	return fork
}

// If the user leaves a branch, Pi asks the model for a summary of it, in a separate request. magicctx must not change
// that request.
func branchSummary(w *world, a agent.Agent) string {
	p := a.(*agent.Pi)
	session := w.session(p)
	w.play(session, w.readNotes("toolu_branch1"), mockllm.Say("41."), mockllm.Say("Green."), mockllm.Say("Blue."), mockllm.Say("Yes."))
	w.prompt(p, session, "Read the notes.")
	w.prompt(p, session, "Name a colour.")
	entry, err := p.PromptEntry(w.ctx, "Name a colour.")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.Navigate(w.ctx, entry+" summarize"); err != nil {
		w.t.Fatal(err)
	}
	summary := w.only("summary")
	w.wantInBody(summary, "Green.", true)
	for _, trace := range []string{guidanceHeading, "§", "ctx_reduce"} {
		w.wantInBody(summary, trace, false)
	}
	w.prompt(p, session, "Name another colour.")
	w.wantInBody(w.last(session), "They talked about notes.", true)
	w.prompt(p, session, "Sure?")
	return session
}

// If the user types "!" and a shell command, Pi sends the command's output with the next prompt.
func userBash(w *world, a agent.Agent) string {
	p := a.(*agent.Pi)
	session := w.session(p)
	w.play(session, mockllm.Say("Ready."), mockllm.Say("41."), mockllm.Say("Yes."))
	w.prompt(p, session, "Wait.")
	if err := p.Call(w.ctx, "bash", map[string]any{"command": "cat notes.txt"}, nil); err != nil {
		w.t.Fatal(err)
	}
	if suite.Pi() != pitest.V074 { // in Pi 0.74, only the terminal mode has this option
		if err := p.Call(w.ctx, "bash", map[string]any{"command": "echo secret", "excludeFromContext": true}, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	w.prompt(p, session, "What does it say?")
	w.wantInBody(w.last(session), "the answer is 41", true)
	w.prompt(p, session, "Sure?")
	w.wantInBody(w.last(session), "secret", false)
	return session
}

// In the modes print and json, only Pi may write to standard output. Pi must end as soon as it is done.
func TestPiPrintsOnlyItsOwnOutput(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	script := []mockllm.Step{w.readNotes("toolu_print1"), mockllm.Call("toolu_print2", "ctx_reduce", map[string]any{"drop": "2"}), mockllm.Say("It says 41.")}
	bareScript := []mockllm.Step{script[0], script[2]}
	for _, mode := range [][]string{{"--print"}, {"--mode", "json"}} {
		t.Run(strings.Join(mode, " "), func(t *testing.T) {
			w := w.in(t)
			run := func(o pitest.Options, steps []mockllm.Step) pitest.Printed {
				t.Helper()
				w.mock.Enqueue(steps...)
				out, err := pitest.Run(w.ctx, o, append(slices.Clone(mode), "What is the answer?")...)
				if err != nil {
					t.Fatal(err)
				}
				if out.Code != 0 || out.Stderr != "" {
					t.Errorf("exit code %d, standard error %q", out.Code, out.Stderr)
				}
				return out
			}
			bare := run(w.user.BarePi(w.project, w.mock.URL()), bareScript)
			began := time.Now()
			with := run(w.user.WithPi(product.Host, w.project, w.mock.URL()), script)
			t.Logf("%v with the extension", time.Since(began))
			requests := w.mock.Requests()
			w.wantInBody(requests[len(requests)-1], "§1§ What is the answer?", true)
			if mode[0] == "--print" {
				if with.Stdout != bare.Stdout {
					t.Errorf("printed %q, without the extension %q", with.Stdout, bare.Stdout)
				}
				return
			}
			known := recordTypes(t, bare.Stdout)
			for kind := range recordTypes(t, with.Stdout) {
				if !known[kind] {
					t.Errorf("a record of type %s, which Pi does not print without the extension", kind)
				}
			}
			if tag := shownTag.FindString(with.Stdout); tag != "" {
				t.Errorf("a message begins with %s:\n%s", tag, with.Stdout)
			}
		})
	}
	w.stopHost()
}

var shownTag = regexp.MustCompile(`"§\d+§ `)

func recordTypes(t *testing.T, out string) map[string]bool {
	t.Helper()
	types := map[string]bool{}
	for line := range strings.Lines(out) {
		var record struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Errorf("%q is no record: %v", line, err)
		}
		types[record.Type] = true
	}
	return types
}

// While magicctx works, the extension must cancel Pi's own compaction. Without magicctx, Pi must compact.
func TestPiCompaction(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	for _, tc := range []struct {
		name     string
		config   string
		host     string
		compacts bool
	}{
		{"magicctx works", `{}`, product.Host, false},
		{"magicctx is switched off", `{"enabled": false}`, product.Host, true},
		{"the host is missing", `{}`, "/nowhere/magicctx-host", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": strings.Repeat("the answer is 41\n", 500)})
			w.configure(tc.config)
			w.mock.AddRule(mockllm.Rule{
				Name: "summary", Match: mockllm.WithoutTools, Answer: mockllm.Always(mockllm.Say("They talked about notes.")),
			})
			o := w.user.WithPi(tc.host, w.project, w.mock.URL())
			o.Settings = map[string]any{"compaction": map[string]any{"enabled": true, "keepRecentTokens": 100}}
			p := w.startPi(o)
			session := w.session(p)
			full := mockllm.Say("41.")
			full.Usage = &promptcache.Tokens{Fresh: 100, Read: opencodetest.DefaultLimits.Context * 93 / 100}
			w.play(session, w.readNotes("toolu_compact1"), full, mockllm.Say("Yes."), mockllm.Say("Really."))
			for _, text := range []string{"Read the notes.", "Sure?", "Really?"} {
				w.prompt(p, session, text)
			}
			if compacted := len(w.requests("summary")) > 0; compacted != tc.compacts {
				t.Errorf("Pi has compacted: %v, want %v", compacted, tc.compacts)
			}
			w.wantInBody(w.last(session), "They talked about notes.", tc.compacts)
			if !tc.compacts {
				w.stop(p)
				w.stopHost()
				checkBusts(t, w.requests(session), w.journal(session))
			}
		})
	}
}

// If the user asks for a compaction, Pi must compact, and the extension must not change the request for the summary.
func TestPiCompactsOnDemand(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": strings.Repeat("the answer is 41\n", 500)})
	w.mock.AddRule(mockllm.Rule{
		Name: "summary", Match: mockllm.WithoutTools, Answer: mockllm.Always(mockllm.Say("They talked about notes.")),
	})
	o := w.user.WithPi(product.Host, w.project, w.mock.URL())
	o.Settings = map[string]any{"compaction": map[string]any{"enabled": true, "keepRecentTokens": 100}}
	p := w.startPi(o)
	session := w.session(p)
	w.play(session, w.readNotes("toolu_compact1"), mockllm.Say("41."), mockllm.Say("Yes."), mockllm.Say("Still."), mockllm.Say("Really."))
	w.prompt(p, session, "Read the notes.")
	w.prompt(p, session, "Sure?")
	if err := p.Compact(w.ctx); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.requests("summary") {
		for _, trace := range []string{guidanceHeading, "§", "ctx_reduce"} {
			w.wantInBody(r, trace, false)
		}
	}
	w.prompt(p, session, "And now?")
	w.wantInBody(w.last(session), "They talked about notes.", true)
	w.prompt(p, session, "Really?")
	w.stop(p)
	w.stopHost()
	requests := w.requests(session)
	for _, r := range requests {
		checkRequest(t, r)
	}
	checkBusts(t, requests, w.journal(session))
}

// Pi is killed during a turn, and a new Pi opens the session. The next request must extend the last one.
func TestPiKilledInATurnGoesOn(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	o := w.user.WithPi(product.Host, w.project, w.mock.URL())
	p := w.startPi(o)
	session := w.session(p)
	started := filepath.Join(w.root, "started")
	arrived := w.playAndTell(session, w.readNotes("toolu_killed1"), mockllm.Say("41."),
		w.readNotes("toolu_killed2"), mockllm.Step{Hang: true}, // killed while the model answers
		mockllm.Say("Here I am."), w.bash("toolu_killed3", "touch "+started+"; sleep 60"), // killed while a tool runs
		mockllm.Say("Here I am again."), mockllm.Say("Yes."))
	w.prompt(p, session, "Read the notes.")

	if _, err := p.SendAsync(w.ctx, session, opencodetest.Prompt{Text: "Again."}); err != nil {
		t.Fatal(err)
	}
	for range 4 { // the channel also holds the two values of the first prompt
		w.wait(arrived, "a request")
	}
	p.Kill()
	resumed := w.resume(p, o)
	w.prompt(resumed, session, "Are you there?")

	if _, err := resumed.SendAsync(w.ctx, session, opencodetest.Prompt{Text: "Wait a minute."}); err != nil {
		t.Fatal(err)
	}
	w.waitForFile(started)
	resumed.Kill()
	last := w.resume(resumed, o)
	w.prompt(last, session, "Are you there again?")
	w.prompt(last, session, "Sure?")
	w.stop(last)
	w.stopHost()

	requests := w.requests(session)
	for _, r := range requests {
		checkRequest(t, r)
	}
	checkTags(t, requests)
	passes := w.journal(session)
	checkBusts(t, requests, passes)
	for _, p := range passes {
		if p.Bust {
			t.Errorf("pass %d is a bust (%s)", p.Pass, p.BustCause)
		}
	}
}

func (w *world) resume(ended *agent.Pi, o pitest.Options) *agent.Pi {
	w.t.Helper()
	p, err := ended.Resume(w.ctx, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.watch(p)
	return p
}

// OpenCode and Pi use one host at the same time, with equal session ids. The host must not mix the sessions: §2§ is a
// file's content in OpenCode, and a command's output in Pi.
func TestBothHarnessesShareAHost(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	files := map[string]string{"notes.txt": "the answer is 41\n", "plan.txt": "ask again\n"}
	w := newWorld(t, suite.Root(t), files)
	w.configure(`{"protected_tags": 1}`)
	oc := w.start(w.withFlatPrices())
	session := w.session(oc)

	o := w.user.WithPi(product.Host, w.project, w.mock.URL())
	o.FlatPrices = true
	o.Args = []string{"--session-id", session}
	if suite.Pi() == pitest.V074 {
		t.Skip("0.74 chooses the ids of its sessions itself")
	}
	p := w.startPi(o)
	if id := w.session(p); id != session {
		t.Fatalf("Pi's session is %s, want %s", id, session)
	}

	full := mockllm.Say("41.")
	full.Usage = &promptcache.Tokens{Fresh: 100, Read: opencodetest.DefaultLimits.Context * 7 / 10}
	for _, isPi := range []bool{false, true} {
		in := *w
		name := "opencode"
		if isPi {
			in.harness, name = schema.HarnessPi, "pi"
		}
		read, input := in.tools().Read(filepath.Join(w.project, map[bool]string{false: "notes.txt", true: "plan.txt"}[isPi]), 0, 0)
		steps := []mockllm.Step{
			mockllm.Call("toolu_1", read, input), mockllm.Call("toolu_2", "ctx_reduce", map[string]any{"drop": "2"}), full, mockllm.Say("Yes."), mockllm.Say("Really."),
		}
		if isPi { // one more unit, so that the same tag has other content in Pi
			steps = slices.Insert(steps, 0, in.bash("toolu_0", "echo 41"))
		}
		w.mock.AddRule(mockllm.Rule{
			Name: name, Match: func(r *mockllm.Request) bool { return r.Session() == session && r.IsPi() == isPi }, Answer: mockllm.InOrder(steps...),
		})
	}
	for _, text := range []string{"Read the file.", "Sure?", "Really?"} {
		told := make(chan error, 2)
		for _, a := range []agent.Agent{oc, p} {
			go func() { told <- a.Send(w.ctx, session, opencodetest.Prompt{Text: text}) }()
		}
		for range 2 {
			if err := <-told; err != nil {
				t.Fatal(err)
			}
		}
	}
	status, err := w.user.Status(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Clients) < 2 || len(status.Sessions) != 2 || status.Bugs != 0 {
		t.Errorf("one host is to serve both: %+v", status)
	}
	w.stop(oc)
	w.stop(p)
	w.stopHost()
	for name, h := range map[string]schema.Harness{"opencode": schema.HarnessOpenCode, "pi": schema.HarnessPi} {
		requests := w.requests(name)
		for _, r := range requests {
			checkRequest(t, r)
		}
		checkTags(t, requests)
		passes := w.journalOf(h, session)
		checkBusts(t, requests, passes)
		if n := slices.IndexFunc(passes, func(p store.PassRow) bool { return p.Bust && p.Cause == "pressure" }); n < 0 {
			t.Errorf("%s: no bust by pressure", name)
		}
		last := requests[len(requests)-1].Body
		if !bytes.Contains(last, []byte("[dropped §2§]")) {
			t.Errorf("%s: §2§ is not dropped", name)
		}
		if has := bytes.Contains(last, []byte("ask again")); has != (h == schema.HarnessPi) {
			t.Errorf("%s: the plan is in its prompt: %v", name, has)
		}
	}
}

func TestPiCommandsAndStatusLine(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	p := w.startPi(w.piOptions(w.withPlugin()))
	session := w.session(p)
	w.play(session, mockllm.Say("It says 41."), mockllm.Say("Yes."))
	w.prompt(p, session, "What is the answer?")
	w.prompt(p, session, "Sure?")
	for _, test := range []struct{ command, says string }{
		{"ctx-status", "Next bust: at "},
		{"ctx-flush", "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown."},
		{"ctx-recomp", "The historian is switched off"}, // the session's model is scripted, so it has no historian
		{"ctx-wrapup 0", "At least one turn stays."},
	} {
		if err := p.Command(w.ctx, session, test.command); err != nil {
			t.Fatal(err)
		}
		_, err := p.Await(w.ctx, func(r pitest.Record) bool {
			return r.Type == "extension_ui_request" && strings.Contains(string(r.Raw), `"notify"`) && strings.Contains(string(r.Raw), test.says)
		})
		if err != nil {
			t.Errorf("/%s: no notice that says %q in %+v: %v", test.command, test.says, p.UIRequests("notify"), err)
		}
	}
	if n := len(w.requests(session)); n != 2 {
		t.Errorf("%d requests, want only those of the prompts", n)
	}
	lines := p.UIRequests("setStatus")
	if len(lines) == 0 || !strings.Contains(lines[len(lines)-1].StatusText, "%") {
		t.Errorf("the status line: %+v", lines)
	} else {
		t.Logf("the status line: %s", lines[len(lines)-1].StatusText)
	}
	if errs := p.ExtensionErrors(); len(errs) > 0 {
		t.Errorf("extension errors: %q", errs)
	}
}

// The judge must convert a recorded session to the same messages that Pi has sent.
func TestJudgeConvertsAsPi(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	j := judge.Needs(t)
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.thinks = true
	traces := filepath.Join(w.root, "trace")
	options := w.withPlugin()
	options.Env = append(options.Env, "MAGICCTX_TRACE="+traces)
	p := w.launch(options)
	dialects := make(map[string]string) // the dialect of each session
	for _, c := range []struct{ dialect, model string }{{"anthropic", opencodetest.ClaudeModel}, {"openai-compatible", opencodetest.GPTModel}} {
		s := w.session(p)
		dialects[s] = c.dialect
		_, nowhere := w.tools().Read("/nowhere", 0, 0)
		_, notes := w.tools().Read(filepath.Join(w.project, "notes.txt"), 0, 0)
		calls := []mockllm.Block{mockllm.Text("I look. "), mockllm.Tool("call_1", "read", notes), mockllm.Tool("call_2", "read", nowhere)}
		think := func(blocks ...mockllm.Block) mockllm.Step {
			if c.dialect == "anthropic" {
				blocks = append([]mockllm.Block{mockllm.Thinking("where is it", "sig1"), mockllm.RedactedThinking("secret")}, blocks...)
			}
			return mockllm.Step{Blocks: blocks}
		}
		w.play(s, think(calls...), mockllm.Say("41"), think(mockllm.Tool("call_3", "read", notes)), mockllm.Say("still 41"), mockllm.Say("bye"))
		for _, text := range []string{"what is the answer?", "and now?", "thank you"} {
			if err := p.Send(w.ctx, s, opencodetest.Prompt{Text: text, Model: c.model}); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.stop(p)
	w.stopHost()
	if passes := w.judgeTraces(j, traces, "pi", dialects); passes < 10 {
		t.Errorf("only %d passes were compared", passes)
	}
}

type typed struct {
	keys  string
	shows []string
}

// onTerminal starts Pi on a terminal. If no program can provide a terminal, the test is skipped, and in CI it fails.
func (w *world) onTerminal(o pitest.Options, inputs ...typed) *pitest.Terminal {
	w.t.Helper()
	p, err := pitest.StartTerminal(w.ctx, o)
	switch {
	case errors.Is(err, pitest.ErrNoTerminal) && os.Getenv("CI") != "true":
		w.t.Skip(err)
	case err != nil:
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.stopHost)
	w.typeAll(p, inputs...)
	return p
}

func (w *world) typeAll(p *pitest.Terminal, inputs ...typed) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	for _, in := range inputs {
		if err := p.Type(in.keys); err != nil {
			w.t.Fatal(err)
		}
		lines, err := p.Await(ctx, in.shows...)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Logf("after %q:\n%s", in.keys, strings.TrimSpace(strings.Join(lines, "\n")))
	}
}

// On a terminal of 80 columns, the user must see the status line, the widget and the view. Their values must follow the
// session, also after a restart of the host. For a new session, they must be empty.
func TestPiScreen(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	w.mock.Enqueue(mockllm.Say("It says 41."), mockllm.Say("Yes."))
	p := w.onTerminal(w.piOptions(w.withPlugin()),
		typed{"", []string{"claude-mock-5-0", "\nmagicctx"}},
		typed{"What is the answer?\r", []string{"It says 41.", "magicctx 1% of 200k", "of 200k tokens (1%)", "█ system ", "last bust none yet"}},
		typed{"/ctx-status \r", []string{"next bust │  at ", "Taken out of the prompt: nothing", "esc or q closes"}},
		typed{"q", []string{"What is the answer?", "It says 41."}},
		typed{"/ctx-menu \r", []string{"Memories of this project", "What was taken out of the prompt"}},
		typed{"\x1b[B\x1b[B\r", []string{"magicctx remembers nothing about this project yet."}},
		typed{"Sure?\r", []string{"Yes.", "magicctx 1% of 200k"}},
	)
	// Pi shows the usage of the newest answer. It depends on the length of the clone's path, which is in the prompt. So
	// the test takes the expected usage from the mock.
	requests := w.mock.Requests()
	usage := requests[len(requests)-1].Reported
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	if _, err := p.Await(ctx, fmt.Sprintf("%.1f%%/200k", float64(usage.Prompt()+usage.Output)/2000)); err != nil {
		t.Error(err)
	}
	// If a line of the widget is wider than the screen, Pi continues it in the next line. Then the line with the usage
	// does not end with the closing parenthesis.
	for _, line := range p.Lines() {
		if strings.Contains(line, "of 200k tokens (") && !strings.HasSuffix(line, ")") {
			t.Errorf("a line of the widget is broken: %s", line)
		}
	}
	w.stopHost()
	w.mock.Enqueue(mockllm.Say("Still 41."))
	w.typeAll(p, typed{"Really? " + strings.Repeat("Please look again. ", 200) + "\r", []string{"Still 41.", "magicctx 2% of 200k", "of 200k tokens (2%)", "spent about"}})
	w.typeAll(p, typed{"/new\r", []string{"New session started", "\nmagicctx\n"}})
	if screen := strings.Join(p.Lines(), "\n"); strings.Contains(screen, "of 200k tokens") {
		t.Errorf("a new session shows the figures of the old one:\n%s", screen)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	w.stopHost()
	o := w.piOptions(w.withPlugin())
	o.Args = append(o.Args, "-c") // Pi opens the newest session again, which has sent no request to this host
	p = w.onTerminal(o, typed{"", []string{"Still 41.", "magicctx 2% of 200k", "of 200k tokens (2%)", "spent about"}})
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// After each turn in which the prompt exceeds Pi's own threshold, Pi writes "Auto-compaction cancelled". That looks
// like an error, so the extension must replace this line.
func TestPiScreenTellsNoCancelledCompaction(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": strings.Repeat("the answer is 41\n", 500)})
	full := func(text string) mockllm.Step {
		turn := mockllm.Say(text)
		turn.Usage = &promptcache.Tokens{Fresh: 100, Read: opencodetest.DefaultLimits.Context * 93 / 100}
		return turn
	}
	w.mock.Enqueue(w.readNotes("toolu_cancelled"), full("It says 41."), full("Yes, 41."), mockllm.Say("Really."))
	o := w.piOptions(w.withPlugin())
	o.Settings = map[string]any{"compaction": map[string]any{"enabled": true, "keepRecentTokens": 100}}
	const sentence = "magicctx keeps this session within its window"
	p := w.onTerminal(o,
		typed{"", []string{"claude-mock-5-0", "\nmagicctx"}},
		typed{"Read the notes.\r", []string{"It says 41.", sentence}},
		typed{"Sure?\r", []string{"Yes, 41."}},
		typed{"Really?\r", []string{"Really."}},
	)
	screen := strings.Join(p.Lines(), "\n")
	if strings.Contains(screen, "cancelled") || strings.Count(screen, sentence) > 1 {
		t.Errorf("the screen is\n%s", screen)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
