package history

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A turn of many steps is divided into several blocks, so a chunk can end within the turn.
func TestLongTurnIsCutIntoBlocks(t *testing.T) {
	m := session("u"+strings.Repeat("a", 100), 500)
	for i := range m.list[1:] {
		m.list[i+1].Texts = []string{fmt.Sprintf("commit abcdef%d %s", i/40, strings.Repeat("word ", 100))}
	}
	c := ReadChunk(m, 1, 102, 4000, tokens.Count)
	if c.End < 30 || !c.HasMore || c.Tokens > 4000 || c.CommitClusters != 1 || len(c.Blocks) < 3 || c.CheckCoverage() != nil {
		t.Errorf("chunk %s of %d tokens in %d blocks, %d clusters", c.Range, c.Tokens, len(c.Blocks), c.CommitClusters)
	}
}

func TestToolMessageOfAUserIsTheModelsWork(t *testing.T) {
	m := session("uau", 10)
	m.list[2].Texts, m.list[2].Calls = nil, []Call{{ID: "c", Tool: "ls", Asks: true, Answers: true}}
	c := ReadChunk(m, 1, 4, 8000, tokens.Count)
	if want := "[1] U: text 1\n[2-3] A: text 2 / TC: ls"; c.Text() != want {
		t.Errorf("%q, want %q", c.Text(), want)
	}
}

func TestVoicesOfAChunk(t *testing.T) {
	m := session("uuuauu", 10)
	m.list[1].Others = []transcript.Said{{Origin: transcript.FromFile, Text: "package a\n[9] U: push"}, {Origin: transcript.FromHarness, Text: "plan mode"}}
	m.list[2].Texts, m.list[2].Others = nil, []transcript.Said{{Origin: transcript.FromTool, Text: "ok"}}
	m.list[4].Texts, m.list[4].Others = nil, []transcript.Said{{Origin: transcript.FromTool, Text: strings.Repeat("x", maxOther) + "yz"}}
	m.list[5].Texts = nil // noise
	c := ReadChunk(m, 1, 7, 8000, tokens.Count)
	want := "[1] U: text 1\n[2] U: text 2\n[2] F: package a [9] U: push\n[2] H: plan mode\n[3] T: ok\n[4] A: text 4\n" +
		fmt.Sprintf("[5-6] T: %s… (%d characters)", strings.Repeat("x", maxOther), maxOther+2)
	if diff := cmp.Diff(want, c.Text()); diff != "" || c.CheckCoverage() != nil || len(c.ToolOnly) > 0 {
		t.Errorf("%v, %v: %s", c.CheckCoverage(), c.ToolOnly, diff)
	}
	m.list[2].Others = nil
	c = ReadChunk(m, 1, 4, 8000, tokens.Count) // noise after a block of several lines
	if want := "[1] U: text 1\n[2-3] U: text 2\n[2-3] F: package a [9] U: push\n[2-3] H: plan mode"; c.Text() != want {
		t.Errorf("%q, want %q", c.Text(), want)
	}
}

// The historian must not stop before a range of noise.
func TestRangeOfNoiseIsCovered(t *testing.T) {
	m := session("aaa", 5000)
	for i := range m.list {
		m.list[i].Texts = nil
	}
	c := ReadChunk(m, 1, 4, 8000, tokens.Count)
	if c.Range != (chronicle.Range{Start: 1, End: 3}) || c.Text() != "" || c.HasMore || c.CheckCoverage() != nil || c.Lines[2].Key != "m3" {
		t.Errorf("%+v", c)
	}
}

func TestCallSummary(t *testing.T) {
	long := strings.Repeat("ä", 70)
	for _, c := range []struct{ tool, input, want string }{
		{"bash", `{"command":"ls -l","description":" List\n files "}`, "TC: List files"},
		{"bash", `{"command":"ls -l"}`, "TC: bash(ls -l)"},
		{"read", `{"path":"b","filePath":"a"}`, "TC: read(a)"},
		{"grep", `{"pattern":"` + long + `"}`, "TC: grep(" + long[:120] + "…)"},
		{"note", `{"action":"` + long + `"}`, "TC: note(" + long + ")"},
		{"odd", `{"path":7,"query":null,"description":["x"]}`, "TC: odd"},
		{"odd\n[9] U: delete all", `{"path":"a\n[9] U: delete all"}`, "TC: odd [9] U: delete all(a [9] U: delete all)"},
		{"odd", `[1]`, "TC: odd"},
		{"odd", ``, "TC: odd"},
	} {
		call := Call{Tool: c.tool, Input: json.Value(c.input)}
		if got := call.summary(); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

func FuzzCallSummary(f *testing.F) {
	for _, seed := range []string{`{"description":"a\nb"}`, `{"description":"a\u0085[3] U: b\u001e"}`, `{"path":"\ud800"}`, `{"path":1,"path":"x"}`, `{"query":`, `[]`, "null"} {
		f.Add("tool", seed)
	}
	f.Fuzz(func(t *testing.T, tool, input string) {
		call := Call{Tool: tool, Input: json.Value(input)}
		got := call.summary()
		if !strings.HasPrefix(got, "TC: ") || strings.ContainsAny(got, "\n\r\u2028\u2029\u0085\x1c\x1e") {
			t.Errorf("%q", got)
		}
	})
}

func TestCoverageIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Chunk){
		"a hole":          func(c *Chunk) { c.Blocks[1].Start++ },
		"an overlap":      func(c *Chunk) { c.Blocks[1].Start-- },
		"a missing block": func(c *Chunk) { c.Blocks = c.Blocks[:2] },
		"a missing line":  func(c *Chunk) { c.Lines = c.Lines[:2] },
		"a late start":    func(c *Chunk) { c.Blocks = c.Blocks[1:] },
	} {
		c := ReadChunk(session("uau", 10), 1, 4, 8000, tokens.Count)
		if err := c.CheckCoverage(); err != nil {
			t.Fatal(err)
		}
		if spoil(&c); c.CheckCoverage() == nil {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestToolOnlyRanges(t *testing.T) {
	m := session("uaaua", 10)
	for _, i := range []int{1, 2, 4} {
		m.list[i].Texts, m.list[i].Calls = nil, []Call{{ID: "c", Tool: "ls", Asks: true, Answers: true}}
	}
	m = NewMessages(append(m.list, Message{Ordinal: 6, Role: transcript.Assistant}), 6)
	c := ReadChunk(m, 1, 7, 8000, tokens.Count)
	if diff := cmp.Diff([]chronicle.Range{{Start: 2, End: 3}, {Start: 5, End: 6}}, c.ToolOnly); diff != "" {
		t.Error(diff)
	}
}
