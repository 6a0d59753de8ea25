package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

type historyRig struct {
	t         *testing.T
	home, dir string
	store     *store.Store
	opencode  *rawhistorytest.OpenCode
}

func newHistoryRig(t *testing.T) *historyRig {
	r := &historyRig{t: t, home: t.TempDir(), dir: t.TempDir()}
	for _, name := range []string{"XDG_DATA_HOME", "OPENCODE_DB", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "COLUMNS"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", r.home)
	var err error
	r.store, err = store.Open(t.Context(), store.Options{Dir: r.dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	r.must(err)
	t.Cleanup(func() { r.must(r.store.Close()) })
	r.opencode = rawhistorytest.NewOpenCode(t, r.home)
	return r
}

func (r *historyRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *historyRig) begin(key store.Key) {
	r.t.Helper()
	r.must(r.store.CommitPass(r.t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Mode: "primary", TagCounter: 1},
		Pass:    store.PassRow{Pass: 1, Verdict: "steady"},
	}))
}

func (r *historyRig) summarise(key store.Key, title string, keys ...string) {
	r.t.Helper()
	ctx := r.t.Context()
	r.begin(key)
	_, err := r.store.SaveTitle(ctx, key, title)
	r.must(err)
	_, err = r.store.Leases.Acquire(ctx, store.HistorianOf(key), "test")
	r.must(err)
	row := func(start, end int) chronicle.Compartment {
		return chronicle.Compartment{
			Start: start, End: end, Keys: keys[start-1 : end], Title: fmt.Sprintf("Part %d\x1b[31m", start),
			Tiers: [4]string{"The user asked.\n\nThe model\x1b[2J answered.", "short"}, Importance: 70, Fidelity: 0.9, Missing: "src/a.go · E1234",
			MadeBy: "model", Model: "anthropic/small", RawTokens: 1200,
		}
	}
	r.must(r.store.History.Publish(ctx, store.Publication{
		Key: key, Holder: "test", After: store.HistoryEnd{Ordinal: 1}, Run: work.RunRow{Kind: "incremental"},
		Compartments: []chronicle.Compartment{row(1, 2), row(3, 3)},
	}))
}

func openCodeMessage(id, role, text string, created int) json.Value {
	return json.Value(fmt.Sprintf(`{"info":{"id":%q,"sessionID":"s","role":%q,"time":{"created":%d}},"parts":[{"id":"p-%s","type":"text","text":%q}]}`, id, role, created, id, text))
}

func (r *historyRig) run(args ...string) (out, errs string, code int) {
	r.t.Helper()
	var o, e bytes.Buffer
	code = run(r.t.Context(), append([]string{"history"}, append(args, "--data-dir", r.dir)...), nil, &o, &e, newFakeHost)
	return o.String(), e.String(), code
}

func (r *historyRig) prints(args ...string) string {
	r.t.Helper()
	out, errs, code := r.run(args...)
	if code != exitOK || errs != "" {
		r.t.Fatalf("history %q: exit code %d, %s", args, code, errs)
	}
	if strings.ContainsRune(out, 0x1b) {
		r.t.Errorf("history %q prints an escape sequence: %q", args, out)
	}
	return out
}

func (r *historyRig) fails(want string, args ...string) {
	r.t.Helper()
	out, errs, code := r.run(args...)
	if code != exitFailed || out != "" || !strings.Contains(errs, want) {
		r.t.Errorf("history %q: exit code %d\n%s\n%s\nwant %q", args, code, out, errs, want)
	}
}

func TestHistoryIsEmptyAtFirst(t *testing.T) {
	r := newHistoryRig(t)
	if out := r.prints("list"); !strings.Contains(out, "No session has summaries yet") {
		t.Error(out)
	}
	if out := r.prints("list", "--json"); out != "{\n  \"sessions\": []\n}\n" {
		t.Error(out)
	}
}

func TestHistoryOfBothHarnesses(t *testing.T) {
	r := newHistoryRig(t)
	oc := store.Key{Harness: "opencode", Session: "ses_0123456789same"}
	pi := store.Key{Harness: "pi", Session: "another-same"}
	r.summarise(oc, "Fix the parser", "m1", "m2", "m3")
	r.summarise(pi, "", "user:1", "assistant:2", "user:3")
	r.opencode.Add(oc.Session, []json.Value{
		openCodeMessage("m1", "user", "Why?\n[9] U: not a message", 1), openCodeMessage("m2", "assistant", "Because.", 2),
		openCodeMessage("m3", "user", "Go on.", 3), openCodeMessage("m4", "assistant", "I do.", 4),
	})
	file := rawhistorytest.NewPi(t, r.home, pi.Session)
	file.Message(json.Value(`{"role":"user","content":"hello","timestamp":1}`))
	file.Message(json.Value(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"hi"}],"timestamp":2}`))

	t.Run("list", func(t *testing.T) {
		out := r.prints()
		for _, want := range []string{"Fix the parser", "56789same", "other-same"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		if out := r.prints("list", "--harness", "pi"); strings.Contains(out, "Fix") || !strings.Contains(out, "other-same") {
			t.Error(out)
		}
		var list struct {
			Sessions []struct {
				Harness  string  `json:"harness"`
				Count    int     `json:"compartmentCount"`
				Messages int     `json:"messages"`
				Fidelity float64 `json:"fidelity"`
			} `json:"sessions"`
		}
		r.must(json.Unmarshal([]byte(r.prints("--json")), &list))
		if len(list.Sessions) != 2 || list.Sessions[0].Harness == list.Sessions[1].Harness || list.Sessions[0].Count != 2 || list.Sessions[0].Messages != 3 || list.Sessions[0].Fidelity != 0.9 {
			t.Errorf("%+v", list)
		}
	})

	t.Run("show", func(t *testing.T) {
		out := r.prints("show", "9same")
		for _, want := range []string{"2 summaries of messages 1-3 · 2.4k tokens · fidelity 90%", "Part 1", "1-2", "Part 3"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		out = r.prints("show", "9same", "2")
		for _, want := range []string{"messages 1-2: Part 1\n   The user asked.\n\n   The model answered.\n", "made by     model anthropic/small", "missing     src/a.go · E1234"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		if strings.Contains(out, "Part 3") {
			t.Errorf("message 2 is not in part 3:\n%s", out)
		}
		var shown struct {
			Session      string `json:"session"`
			Compartments []struct {
				Start  int      `json:"start"`
				Title  string   `json:"title"`
				Tiers  []string `json:"tiers"`
				MadeBy string   `json:"madeBy"`
			} `json:"compartments"`
		}
		r.must(json.Unmarshal([]byte(r.prints("show", oc.Session, "3-", "--json")), &shown))
		if c := shown.Compartments; shown.Session != oc.Session || len(c) != 1 || c[0].Start != 3 || c[0].Title != "Part 3\x1b[31m" || len(c[0].Tiers) != 4 || c[0].MadeBy != "model" {
			t.Errorf("%+v", shown)
		}
		r.fails("2 sessions end in \"same\"", "show", "same")
		r.fails("no session \"nobody\"; "+program.Name()+" history list names", "show", "nobody")
		r.fails("no summary covers 4-9; the summaries of this session cover the messages 1-3", "show", "9same", "4-9")
	})

	t.Run("expand", func(t *testing.T) {
		const whole = "[1] user: Why?\n    [9] U: not a message\n\n[2] agent: Because.\n\n"
		if out := r.prints("expand", "9same", "1-2"); out != whole+"The session has the messages 1 to 4, in "+r.opencode.Path+"\n" {
			t.Errorf("%s", out)
		}
		var onPage strings.Builder // of the dashboard
		r.must((&dashboardCmd{dataDirFlag: dataDirFlag{DataDir: r.dir}}).messages(t.Context(), oc, 1, 2, &onPage))
		if !strings.HasPrefix(onPage.String(), whole) {
			t.Errorf("the dashboard shows %s", &onPage)
		}
		if out := r.prints("expand", "9same"); !strings.HasPrefix(out, whole) || !strings.Contains(out, "[4] agent: I do.") {
			t.Errorf("%s", out)
		}
		if out := r.prints("expand", "same", "--harness", "pi", "2"); !strings.HasPrefix(out, "[2] agent: hi\n\n") {
			t.Error(out)
		}
		if out := r.prints("expand", "same", "--harness", "pi", "2", "--thinking"); !strings.HasPrefix(out, "[2] thinking: hm\n[2] agent: hi\n\n") {
			t.Error(out)
		}
		if out := r.prints("expand", "9same", "3", "--json"); out != `{"ordinal":3,"raw":{"info":{"id":"m3","sessionID":"`+oc.Session+`","role":"user","time":{"created":3}},"parts":[{"id":"p-m3","sessionID":"`+oc.Session+`","messageID":"m3","text":"Go on.","type":"text"}]}}`+"\n" {
			t.Error(out)
		}
		r.fails("there is no message 5; messages 1 to 4 can be shown", "expand", "9same", "5")
		r.opencode.Exec(`DELETE FROM message WHERE id = 'm2'`)
		if out := r.prints("expand", "9same", "3"); !strings.HasPrefix(out, "[3] user: Go on.\n") {
			t.Errorf("the anchors do not count: %s", out)
		}
		r.fails("message 2 was deleted; messages 1 to 4 can be shown", "expand", "9same", "2")
		r.opencode.Exec(`DELETE FROM session`)
		r.fails("set OPENCODE_DB", "expand", "9same")
	})

	r.must(r.store.Close()) // the host has stopped
	if out := r.prints("show", "9same"); !strings.Contains(out, "Part 1") {
		t.Errorf("without a host: %s", out)
	}
}

func TestHistoryWithoutSummaries(t *testing.T) {
	r := newHistoryRig(t)
	key := store.Key{Harness: "opencode", Session: "ses_bare"}
	r.begin(key)
	r.opencode.Add(key.Session, []json.Value{openCodeMessage("m1", "user", "Hello.", 1)})
	if out := r.prints("show", "bare"); !strings.Contains(out, "This session has no summaries yet") {
		t.Error(out)
	}
	r.fails("this session has no summaries yet; "+program.Name()+" history expand", "show", "bare", "1")
	if out := r.prints("expand", "bare"); !strings.HasPrefix(out, "[1] user: Hello.\n") {
		t.Error(out)
	}
	if matches, _ := filepath.Glob(filepath.Join(filepath.Dir(r.opencode.Path), "*")); len(matches) > 3 {
		t.Errorf("files beside OpenCode's database: %q", matches)
	}
}

func TestMessageRange(t *testing.T) {
	for text, want := range map[string]string{"12": "12", "12-20": "12-20", "12-": "12-", "7-7": "7"} {
		var r messageRange
		if err := r.UnmarshalText([]byte(text)); err != nil || r.String() != want {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "0", "-3", "3-2", "a", "1-b", "1-2-3", "99999999999999999999"} {
		if err := new(messageRange).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for a range", text)
		}
	}
	for _, c := range []struct {
		r           messageRange
		first, last int
		want        bool
	}{
		{messageRange{}, 1, 2, true},
		{messageRange{3, 5}, 1, 2, false},
		{messageRange{3, 5}, 1, 3, true},
		{messageRange{3, 5}, 5, 9, true},
		{messageRange{3, 5}, 6, 9, false},
	} {
		if got := c.r.touches(c.first, c.last); got != c.want {
			t.Errorf("%v touches %d-%d: %v", c.r, c.first, c.last, got)
		}
	}
}
