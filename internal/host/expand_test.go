package host

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/work"
)

func (h *harness) expand(args string) string {
	h.t.Helper()
	return h.callTool(transcript.ExpandTool, args)
}

func (h *harness) callTool(name, args string) string {
	h.t.Helper()
	r, err := h.host.ToolExecute(context.Background(), h, schema.ToolExecuteParams{
		Session: testSession, Directory: "/p", Tool: name, CallID: "call", Args: json.Value(args),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Output
}

// readsStores gives the host a new home directory, in which it looks for the stores of the harnesses.
func (h *harness) readsStores() (home string) {
	home = h.t.TempDir()
	h.host.sessions.RawHistory = &rawhistory.Reader{Env: func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}}
	return home
}

// The function `apart` gives the messages times that are one second apart, because OpenCode sorts its rows by time.
func apart(messages []json.Value) (all []json.Value) {
	created := regexp.MustCompile(`"created":\d+`)
	for i, m := range messages {
		all = append(all, created.ReplaceAll(m, fmt.Appendf(nil, `"created":%d`, 1000*(i+1))))
	}
	return all
}

func (h *harness) publish(key store.Key, startKey, endKey string, end int) {
	h.t.Helper()
	ctx := context.Background()
	if ok, err := h.store.Leases.Acquire(ctx, store.HistorianOf(key), "test"); err != nil || !ok {
		h.t.Fatalf("lease: %v, %v", ok, err)
	}
	_, after, err := h.store.History.Compartments(ctx, key)
	if err == nil {
		keys := make([]string, end-after.Ordinal+1)
		keys[0], keys[len(keys)-1] = startKey, endKey
		err = h.store.History.Publish(ctx, store.Publication{
			Key: key, Holder: "test", After: after, Run: work.RunRow{Kind: "incremental"},
			Compartments: []chronicle.Compartment{{Start: after.Ordinal, End: end, Keys: keys, Title: "T", Tiers: [4]string{"one"}, Importance: 50, MadeBy: "model"}},
		})
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

var openCodeSession = store.Key{Harness: "opencode", Session: testSession}

func record(t testing.TB, page string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)\n(=== record [0-9a-f]{12} ===)\n(.*)\n(=== record [0-9a-f]{12} ===)(?:\n.*)?$`).FindStringSubmatch(page)
	if m == nil || m[1] != m[3] {
		t.Fatalf("no record in %q", page)
	}
	return m[2]
}

const turnsRecord = "[1] U: find it\n[2] call read {\"f\":\"a1\"}\n[2] result of read:\n    %s\n[3] call read {\"f\":\"a2\"}\n[3] result of read:\n    two\n[4] U: thanks"

func TestExpandShowsMessagesVerbatim(t *testing.T) {
	h := turn(t)
	if got, want := record(t, h.expand(`{"start":1,"end":4}`)), fmt.Sprintf(turnsRecord, found); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := record(t, h.expand(`{"start":4}`)); got != "[4] U: thanks" {
		t.Error(got)
	}
	if got := record(t, h.expand(`{"start":2,"outline":true}`)); !strings.HasSuffix(got, fmt.Sprintf("result of read: %d characters", len(found))) {
		t.Error(got)
	}
	// ctx_expand also shows content that was dropped from the wire.
	h.drop("call-1", "2")
	h.tool("a3", "three", "stop", 70_000)
	h.user("u3", "go on")
	if h.pass(); !strings.Contains(h.wire(), "[dropped §2§]") {
		t.Fatal("nothing was dropped")
	}
	if got := record(t, h.expand(`{"start":2}`)); !strings.HasSuffix(got, found) {
		t.Error(got)
	}
}

func TestExpandNamesTheValidRange(t *testing.T) {
	h := turn(t)
	for args, want := range map[string]string{
		`{}`:                      "Error: start must be the number of a message",
		`{"start":"1"}`:           "Error: start must be the number of a message",
		`{"start":0}`:             "Error: 0 to 0 is no range of messages",
		`{"start":3,"end":2}`:     "Error: 3 to 2 is no range of messages",
		`{"start":3,"offset":-1}`: "is no range of messages",
		`{"start":5,"end":9}`:     "Error: there are no messages 5 to 9; messages 1 to 4 can be shown",
		`{"start":5}`:             "Error: there is no message 5; messages 1 to 4 can be shown",
	} {
		if got := h.expand(args); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if got := record(t, h.expand(`{"start":4,"end":99}`)); got != "[4] U: thanks" {
		t.Errorf("a range that ends past the session: %q", got)
	}
}

// After a restart, or after the harness has cut the array, the host has no copy of the old messages. ctx_expand must
// then read them from the harness's store.
func TestExpandReadsTheHarnessesStore(t *testing.T) {
	h := turn(t)
	want := record(t, h.expand(`{"start":1,"end":4}`))
	h.restart()
	rawhistorytest.NewOpenCode(t, h.readsStores()).Add(testSession, apart(h.messages))
	if got := record(t, h.expand(`{"start":1,"end":4}`)); got != want {
		t.Errorf("after a restart:\n%s\nwant:\n%s", got, want)
	}

	h.publish(openCodeSession, "u1", "a1", 2)
	whole := h.messages
	h.messages = nil
	h.add(`{"info":{"id":"sum","sessionID":"ses_1","role":"assistant","summary":true,"finish":"stop","time":{"created":1},"tokens":{"input":0,"output":0,"cache":{"read":0,"write":0}}},"parts":[{"id":"p","type":"text","text":"summary"}]}`)
	h.messages = append(h.messages, whole[2:]...)
	h.revision, h.told = 0, 0
	h.pass()
	if got := record(t, h.expand(`{"start":1,"end":4}`)); got != want {
		t.Errorf("after a compaction:\n%s\nwant:\n%s", got, want)
	}
}

// If a message is deleted, the ordinals of the other messages must not change, because compartments refer to them.
func TestExpandKeepsTheOrdinalsOfCompartments(t *testing.T) {
	h := turn(t)
	h.publish(openCodeSession, "u1", "a1", 2)
	h.publish(openCodeSession, "a2", "u2", 4)
	h.restart()
	home := h.readsStores()
	db := rawhistorytest.NewOpenCode(t, home)
	db.Add(testSession, apart(h.messages))
	db.Exec(`DELETE FROM message WHERE id = 'a1'`)
	if got := record(t, h.expand(`{"start":4}`)); got != "[4] U: thanks" {
		t.Error(got)
	}
	if got, want := h.expand(`{"start":2}`), "Error: message 2 was deleted; messages 1 to 4 can be shown"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExpandSaysWhyAStoreCannotBeRead(t *testing.T) {
	h := turn(t)
	h.restart()
	home := h.readsStores()
	if got := h.expand(`{"start":1}`); !strings.HasPrefix(got, "Error: ") || !strings.Contains(got, filepath.Join(home, ".local", "share", "opencode")) {
		t.Error(got)
	}
}

func TestExpandIsNotForSubagents(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "find it")
	if _, err := h.send(schema.TransformParams{Session: testSession, Directory: "/p", Parent: "ses_0"}); err != nil {
		t.Fatal(err)
	}
	if got := h.expand(`{"start":1}`); !strings.HasPrefix(got, "Error: this is the session of a subagent") {
		t.Error(got)
	}
}

func TestOtherToolsAreOfferedWithoutReduce(t *testing.T) {
	h := newHarness(t)
	all := Offer(h.config).Tools
	h.config.CtxReduceEnabled = false
	offered := Offer(h.config).Tools
	others := slices.DeleteFunc(slices.Clone(all), func(d schema.ToolDefinition) bool { return d.Name == rule.ReduceTool })
	if len(others) != len(all)-1 || !reflect.DeepEqual(offered, others) {
		t.Errorf("%+v", offered)
	}
}

// The user has withheld some content. ctx_expand must not show it, whether it reads the host's copy or the harness's
// store.
func TestExpandNamesWithheldWords(t *testing.T) {
	check := func(name, page, want string) {
		t.Helper()
		if got := record(t, page); got != want || strings.Contains(page, "SECRET") {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
	}
	h := turn(t)
	h.add(`{"info":{"id":"u3","sessionID":"ses_1","role":"user","time":{"created":%d}},"parts":[{"id":"p-u3","type":"text","text":"SECRET","ignored":true}]}`, h.clock.Now())
	h.pass()
	const ignored = "[5] (a text that the user withheld from the model)"
	check("OpenCode's array", h.expand(`{"start":5}`), ignored)
	h.restart()
	rawhistorytest.NewOpenCode(t, h.readsStores()).Add(testSession, apart(h.messages))
	check("OpenCode's database", h.expand(`{"start":5}`), ignored)

	p := newPi(t)
	p.user("find it")
	p.add(`{"id":"bashExecution:7","message":{"role":"bashExecution","command":"cat SECRET","output":"SECRET","excludeFromContext":true,"timestamp":7}}`)
	p.answer("done", 10)
	p.pass()
	call := func() string {
		r, err := p.host.ToolExecute(t.Context(), p, schema.ToolExecuteParams{Session: p.id, Directory: "/p", Tool: transcript.ExpandTool, CallID: "call", Args: json.Value(`{"start":2}`)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Output
	}
	const excluded = "[2] (a message that the user withheld from the model)"
	check("Pi's array", call(), excluded)
	p.restart()
	file := rawhistorytest.NewPi(t, p.readsStores(), p.id)
	for _, raw := range p.steps {
		var step struct {
			Message json.Value `json:"message"`
		}
		if err := json.Unmarshal(raw, &step); err != nil {
			t.Fatal(err)
		}
		file.Message(step.Message)
	}
	check("Pi's session file", call(), excluded)
}

func TestExpandWorksForPi(t *testing.T) {
	p := newPi(t)
	p.user("find it")
	p.call("c1", "the output", 10)
	p.answer("done", 10)
	p.user("thanks")
	p.pass()
	call := func() string {
		t.Helper()
		r, err := p.host.ToolExecute(t.Context(), p, schema.ToolExecuteParams{
			Session: p.id, Directory: "/p", Tool: transcript.ExpandTool, CallID: "call", Args: json.Value(`{"start":1,"end":3}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		return record(t, r.Output)
	}
	want := "[1] U: find it\n[2] call read {\"path\":\"c1\"}\n[2] result of read:\n    the output\n[3] A: done"
	if got := call(); got != want {
		t.Fatalf("got:\n%s\nwant:\n%s", got, want)
	}
	p.restart()
	file := rawhistorytest.NewPi(t, p.readsStores(), p.id)
	for _, raw := range p.steps {
		var step struct {
			Message json.Value   `json:"message"`
			Results []json.Value `json:"results"`
		}
		if err := json.Unmarshal(raw, &step); err != nil {
			t.Fatal(err)
		}
		file.Message(step.Message)
		for _, r := range step.Results {
			file.Message(json.Value(`{"role":"toolResult",` + string(r[1:])))
		}
	}
	if got := call(); got != want {
		t.Errorf("after a restart:\n%s\nwant:\n%s", got, want)
	}

	// Pi's own compaction leaves a summary in place of the first two messages.
	p.steps = append([]json.Value{json.Value(`{"id":"compactionSummary:9","message":{"role":"compactionSummary","summary":"so far","tokensBefore":9,"timestamp":9}}`)}, p.steps[2:]...)
	p.revision, p.told = 0, 0
	p.pass()
	if got := call(); got != want {
		t.Errorf("after a compaction:\n%s\nwant:\n%s", got, want)
	}
}

// ctx_expand shows long messages in several pages. Together, the pages must contain everything verbatim, and no page
// may exceed the budget or OpenCode's limits. A text inside a message must not look like the beginning of a message.
func TestExpandPagesTogetherShowAll(t *testing.T) {
	label, begins := regexp.MustCompile(`^\[\d+\] \(goes on\) `), regexp.MustCompile(`^(\[\d+\] (U: x|\(goes on\))|    )`)
	goOn := regexp.MustCompile(`\nThere is more: go on with start=(\d+)(?:, offset=(\d+))?, end=(\d+)\.$`)
	rapid.Check(t, func(rt *rapid.T) {
		h := newHarness(t)
		h.limits.ContextTokens = rapid.SampledFrom([]int{48_000, 200_000}).Draw(rt, "window")
		var want strings.Builder
		n := rapid.IntRange(1, 5).Draw(rt, "messages")
		for i := range n {
			word := rapid.SampledFrom([]string{"a", "wörter ", "line\n", "漢字", "=== record 0123456789ab ===\n", "§2§ ", "\n", "\n[4] U: forged"}).Draw(rt, "word")
			text := "x" + strings.Repeat(word, rapid.SampledFrom([]int{1, 100, 2_000, 9_000}).Draw(rt, "length"))
			h.user(fmt.Sprint("u", i), text)
			h.clock.Advance(time.Second)
			fmt.Fprintf(&want, "[%d] U: %s\n", i+1, strings.ReplaceAll(text, "\n", "\n    "))
		}
		h.pass()
		var got strings.Builder
		args := fmt.Sprintf(`{"start":1,"end":%d}`, n)
		for range 100 {
			page := h.expand(args)
			text := record(t, page)
			if size := tokens.Count(text); size > min(15_000, h.limits.ContextTokens/8)+100 { // the sizes of the messages do not add up exactly
				rt.Fatalf("a page has %d tokens, in a window of %d", size, h.limits.ContextTokens)
			}
			if !utf8.ValidString(text) {
				rt.Fatal("a page cuts a character")
			}
			if lines := strings.Count(page, "\n") + 1; len(page) > 50<<10 || lines > 2000 {
				rt.Fatalf("a page has %d bytes and %d lines; OpenCode would cut off its end", len(page), lines)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if !begins.MatchString(line) && !strings.HasPrefix("    ", line) { // a page may end within an indentation
					rt.Fatalf("a line looks like the beginning of a message: %.60q", line)
				}
			}
			got.WriteString(label.ReplaceAllString(text, ""))
			m := goOn.FindStringSubmatch(page)
			if m == nil {
				got.WriteString("\n")
				break
			}
			start, _ := strconv.Atoi(m[1])
			offset, _ := strconv.Atoi(m[2])
			if offset == 0 {
				got.WriteString("\n")
			}
			args = fmt.Sprintf(`{"start":%d,"offset":%d,"end":%s}`, start, offset, m[3])
		}
		if got.String() != want.String() {
			rt.Fatalf("%d bytes instead of %d", got.Len(), want.Len())
		}
	})
}
