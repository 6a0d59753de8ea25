package rawhistory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// adapters/pi-shim/test/steps.test.ts has the same vectors.
func TestPiStepsAreThoseOfTheShim(t *testing.T) {
	content, err := os.ReadFile("testdata/pi-steps.json")
	must(t, err)
	var cases []struct {
		Name     string         `json:"name"`
		Messages []json.Value   `json:"messages"`
		Steps    [][]json.Value `json:"steps"`
	}
	must(t, json.Unmarshal(content, &cases))
	if len(cases) == 0 {
		t.Fatal("no vectors")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			home := t.TempDir()
			p := rawhistorytest.NewPi(t, home, session)
			for _, raw := range c.Messages {
				must(t, raw.Compact())
				p.Message(raw)
			}
			all, _ := read(t, at(home), ofPi(), 1, 99)
			if len(all) != len(c.Steps) {
				t.Fatalf("%s; want %d steps", keys(all), len(c.Steps))
			}
			for i, m := range all {
				var step struct {
					ID      string       `json:"id"`
					Results []json.Value `json:"results"`
				}
				must(t, json.Unmarshal(m.Raw, &step))
				if got := fmt.Sprintf("[%q,%d]", step.ID, len(step.Results)); got != fmt.Sprintf("[%s,%s]", c.Steps[i][0], c.Steps[i][1]) {
					t.Errorf("step %d: %s, want %s", i+1, got, c.Steps[i])
				}
			}
		})
	}
}

func piUser(text string, at int) json.Value {
	return json.Value(fmt.Sprintf(`{"role":"user","content":%q,"timestamp":%d}`, text, at))
}

func piCall(id string, at int) json.Value {
	return json.Value(fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":%q,"name":"read","arguments":{}}],"stopReason":"toolUse","timestamp":%d}`, id, at))
}

func piResult(id, text string, at int) json.Value {
	return json.Value(fmt.Sprintf(`{"role":"toolResult","toolCallId":%q,"content":[{"type":"text","text":%q}],"isError":false,"timestamp":%d}`, id, text, at))
}

func TestPiBranchIsThatOfTheLeaf(t *testing.T) {
	home := t.TempDir()
	p := rawhistorytest.NewPi(t, home, session)
	p.Message(json.Value(`{"role":"system","content":"the prompt","timestamp":1}`))
	fork := p.Message(piUser("one", 2))
	p.Message(piUser("left", 3))
	p.Message(piCall("x", 4))
	p.Leaf = fork
	p.Entry("branch_summary", `"fromId":"00000004","summary":"They went left."`)
	p.Message(piUser("right", 5))
	p.Entry("compaction", `"summary":"all","firstKeptEntryId":"00000006","tokensBefore":9`)
	p.Message(piUser("on", 6))
	p.Entry("label", `"label":"here"`)
	all, _ := read(t, at(home), ofPi(), 1, 99)
	if got := keys(all); got != "1=user:2 2=branchSummary:00000004 3=user:5 4=user:6" {
		t.Error(got)
	}
	if text := all[1].Decoded.Parts[0].Text; text != "They went left." {
		t.Errorf("%q", text)
	}
}

func TestPiEditsChangeTheirTargets(t *testing.T) {
	home := t.TempDir()
	p := rawhistorytest.NewPi(t, home, session)
	p.Message(piUser("one", 1))
	failed := p.Message(piCall("x", 2))
	p.Entry("context_edit", fmt.Sprintf(`"targetId":%q,"replacement":null`, failed))
	p.Message(piCall("a", 3))
	result := p.Message(piResult("a", "secret", 4))
	p.Entry("context_edit", fmt.Sprintf(`"targetId":%q,"replacement":{"content":"other"}`, result))
	all, _ := read(t, at(home), ofPi(), 1, 99)
	if got := keys(all); got != "1=user:1 2=assistant:3" {
		t.Fatal(got)
	}
	if got := all[1].Decoded.Parts[0].Text; got != "other" {
		t.Errorf("the result reads %q", got)
	}
}

// An unreadable line of the session file still gets an ordinal, and the entry before it is its parent. But a last line
// that Pi has not finished writing gets no ordinal.
func TestPiBrokenLinesKeepTheirPlaces(t *testing.T) {
	home := t.TempDir()
	p := rawhistorytest.NewPi(t, home, session)
	broken := func(kind, members string) {
		line, id := p.NextLine(kind, members)
		p.Line(line[:len(line)-8])
		p.Leaf = id
	}
	p.Message(piUser("one", 1))
	broken("message", `"message":`+string(piUser("two", 2)))
	p.Message(piUser("three", 3))
	p.Line("")
	broken("model_change", `"modelId":"m"`)
	p.Message(piUser("four", 4))
	broken("message", `"message":`+string(piCall("a", 5)))
	p.Message(piResult("a", "A", 6))
	p.Message(piCall("b", 7))
	broken("message", `"message":`+string(piResult("b", "B", 8)))
	p.Message(piUser("seven", 9))
	line, _ := p.NextLine("message", `"message":`+string(piUser("eight", 10)))
	p.Append(line[:len(line)-3])
	all, extent := read(t, at(home), ofPi(), 1, 99)
	if got := keys(all); got != "1=user:1 2=? 3=user:3 4=user:4 5=? 6=assistant:7 7=user:9" || extent.Last != 7 {
		t.Errorf("%s, %+v", got, extent)
	}
	p.Append(line[len(line)-3:] + "\n")
	if all, _ := read(t, at(home), ofPi(), 8, 8); keys(all) != "8=user:10" {
		t.Errorf("after the line is finished: %s", keys(all))
	}
}

func TestPiFileIsFound(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	p := rawhistorytest.NewPi(t, home, session)
	p.Message(piUser("one", 1))
	content, err := os.ReadFile(p.Path)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(elsewhere, "2026_"+session+".jsonl"), []byte(strings.Replace(string(content), `"timestamp":1`, `"timestamp":2`, 1)), 0o600))
	agent := filepath.Join(home, ".pi", "agent")

	for _, c := range []struct {
		name, want, directory string
		env                   []string
	}{
		{"home", "1=user:1", "/p", []string{"HOME=" + home}},
		{"another project", "1=user:1", "/other", []string{"HOME=" + home}},
		{"no project", "1=user:1", "", []string{"HOME=" + home}},
		{"PI_CODING_AGENT_DIR", "1=user:1", "/p", []string{"PI_CODING_AGENT_DIR=" + agent}},
		{"PI_CODING_AGENT_DIR below home", "1=user:1", "/p", []string{"HOME=" + home, "PI_CODING_AGENT_DIR=~/.pi/agent"}},
		{"PI_CODING_AGENT_SESSION_DIR", "1=user:2", "/p", []string{"HOME=" + home, "PI_CODING_AGENT_SESSION_DIR=" + elsewhere}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ofPi()
			s.Directory = c.directory
			if all, _ := read(t, at("", c.env...), s, 1, 9); keys(all) != c.want {
				t.Errorf("%s, want %s", keys(all), c.want)
			}
		})
	}
	t.Run("the directory of Pi's settings", func(t *testing.T) {
		must(t, os.WriteFile(filepath.Join(agent, "settings.json"), []byte(fmt.Sprintf(`{"sessionDir":%q}`, elsewhere)), 0o600))
		if all, _ := read(t, at(home), ofPi(), 1, 9); keys(all) != "1=user:2" {
			t.Error(keys(all))
		}
	})
}

func TestPiFileThatIsNoSessionIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ id, content, want string }{
		"unknown":          {"nobody", "", "PI_CODING_AGENT_SESSION_DIR"},
		"a path":           {"../../etc/passwd", "", "no session with such an id"},
		"empty":            {"s", " ", "empty"},
		"another session":  {"s", `{"type":"session","version":3,"id":"t"}` + "\n", `session "t"`},
		"no header":        {"s", `{"type":"message"}` + "\n", "header"},
		"an older version": {"s", `{"type":"session","version":2,"id":"s"}` + "\n", "open the session once in Pi"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, ".pi", "agent", "sessions", "--p--")
			must(t, os.MkdirAll(dir, 0o700))
			if c.content != "" {
				must(t, os.WriteFile(filepath.Join(dir, "2026_s.jsonl"), []byte(c.content), 0o600))
			}
			s := ofPi()
			s.ID = c.id
			if _, err := at(home).Read(t.Context(), s, 1, 1, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestPiLineThatIsTooLongIsRefused(t *testing.T) {
	home := t.TempDir()
	p := rawhistorytest.NewPi(t, home, session)
	f, err := os.OpenFile(p.Path, os.O_WRONLY, 0)
	must(t, err)
	must(t, f.Truncate(65<<20)) // the file is sparse, so it needs no disk space
	must(t, f.Close())
	if _, err := at(home).Read(t.Context(), ofPi(), 1, 1, nil); err == nil || !strings.Contains(err.Error(), "line 2: longer than 64 MiB") {
		t.Errorf("error %v", err)
	}
}

// The reader must find the same ordinals, keys and contents in Pi's file as the host finds in the shim's steps. The
// file also has other branches, and entries without a message.
func TestPiReaderAgreesWithTheCodec(t *testing.T) {
	codec := transcript.Pi{}
	rapid.Check(t, func(rt *rapid.T) {
		home := t.TempDir()
		p := rawhistorytest.NewPi(t, home, session)
		var want []json.Value
		clock, number := 0, map[string]int{}
		id := func(base string) string {
			number[base]++
			if n := number[base]; n > 1 {
				return fmt.Sprintf("%s#%d", base, n)
			}
			return base
		}
		for range rapid.IntRange(0, 8).Draw(rt, "steps") {
			noise(rt, p)
			clock += rapid.IntRange(0, 1).Draw(rt, "pause")
			text := rapid.String().Draw(rt, "text")
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				raw := json.Value(fmt.Sprintf(`{"role":"user","content":%s,"timestamp":%d}`, json.Quote(text), clock))
				p.Message(raw)
				want = append(want, json.Value(fmt.Sprintf(`{"id":%q,"message":%s}`, id(fmt.Sprintf("user:%d", clock)), raw)))
			case 1:
				raw := json.Value(fmt.Sprintf(`{"role":"bashExecution","command":"ls","output":%s,"timestamp":%d}`, json.Quote(text), clock))
				p.Message(raw)
				want = append(want, json.Value(fmt.Sprintf(`{"id":%q,"message":%s}`, id(fmt.Sprintf("bashExecution:%d", clock)), raw)))
			case 2:
				calls := rapid.IntRange(0, 2).Draw(rt, "calls")
				var blocks, results []string
				blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%s}`, json.Quote(text)))
				for k := range calls {
					blocks = append(blocks, fmt.Sprintf(`{"type":"toolCall","id":"c%d","name":"read","arguments":{"n":%d}}`, k, k))
					results = append(results, string(piResult(fmt.Sprintf("c%d", k), "result", clock)))
				}
				raw := fmt.Sprintf(`{"role":"assistant","content":[%s],"stopReason":"stop","timestamp":%d}`, strings.Join(blocks, ","), clock)
				p.Message(json.Value(raw))
				for _, r := range results {
					noise(rt, p)
					p.Message(json.Value(r))
				}
				step := fmt.Sprintf(`{"id":%q,"message":%s`, id(fmt.Sprintf("assistant:%d", clock)), raw)
				if calls > 0 {
					step += `,"results":[` + strings.Join(results, ",") + `]`
				}
				want = append(want, json.Value(step+"}"))
			}
		}
		all, extent := read(t, at(home), ofPi(), 1, 1<<30)
		if len(all) != len(want) || extent.Last != len(want) {
			rt.Fatalf("%d messages, want %d", len(all), len(want))
		}
		for i, raw := range want {
			sameMessage(rt, i+1, all[i], codec.Decode(raw))
			if string(all[i].Raw) != string(raw) {
				rt.Fatalf("raw %s\nwant %s", all[i].Raw, raw)
			}
		}
	})
}

// The function `noise` adds entries that give no message on the branch.
func noise(t *rapid.T, p *rawhistorytest.Pi) {
	switch rapid.IntRange(0, 5).Draw(t, "noise") {
	case 0:
		p.Entry("model_change", `"modelId":"m"`)
	case 1:
		p.Message(json.Value(`{"role":"system","content":"s","timestamp":1}`))
	case 2:
		leaf := p.Leaf
		p.Message(piUser("of another branch", 1))
		p.Leaf = leaf
		p.Entry("custom", `"data":{"role":"user"}`)
	}
}
