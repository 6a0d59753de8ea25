package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

var brokenFiles = []struct {
	name   string
	damage func(lines [][]byte, newest string) [][]byte
}{
	{"lines that are no entries, and half a line at the end", func(lines [][]byte, _ string) [][]byte {
		lines = slices.Insert(lines, 2, []byte("%%% no JSON\n"), []byte("[]\n"))
		if suite.Pi() != pitest.V074 { // Pi 0.74 does not open a file with such a line
			lines = slices.Insert(lines, 2, []byte("null\n"))
		}
		return append(lines, []byte(`{"type":"message","id":"0000000a","par`))
	}},
	{"an entry of an unknown type", func(lines [][]byte, newest string) [][]byte {
		return append(lines, fmt.Appendf(nil, `{"type":"hologram","id":"0000000a","parentId":%q,"timestamp":"2030-01-01T00:00:00.000Z","beam":7}`+"\n", newest))
	}},
	{"a message without a time, and one of an unknown role", func(lines [][]byte, newest string) [][]byte {
		entry := `{"type":"message","id":%q,"parentId":%q,"timestamp":"1970-01-01T00:00:00.000Z","message":%s}` + "\n"
		return append(lines,
			fmt.Appendf(nil, entry, "0000000a", newest, `{"role":"user","content":"Was there more?"}`),
			fmt.Appendf(nil, entry, "0000000b", "0000000a", `{"role":"hologram","content":"?","timestamp":-1}`))
	}},
	// If the file contains this entry, Pi itself finds neither the conversation nor the system prompt.
	{"a message without an id", func(lines [][]byte, newest string) [][]byte {
		return append(lines, fmt.Appendf(nil, `{"type":"message","parentId":%q,"message":{"role":"user","content":"Was there more?","timestamp":-1}}`+"\n", newest))
	}},
}

// Pi opens damaged session files. The model must get the same content as without magicctx. Each request must extend the
// request before it, or be a bust with a cause.
func TestPiBrokenSessionFile(t *testing.T) {
	needs(t, schema.HarnessPi)
	t.Parallel()
	w := newWorldOf(t, schema.HarnessPi, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	session, lines := w.wholeFile()
	with := w.openEach(w.user.WithPi(product.Host, w.project, w.mock.URL()), lines)
	w.stopHost()
	managed := w.requests(session) // the requests that the host has seen
	bare := w.openEach(w.user.BarePi(w.project, w.mock.URL()), lines)
	for i, tc := range brokenFiles {
		t.Run(tc.name, func(t *testing.T) {
			if len(bare[i].System) == 0 { // Pi has lost its own system prompt
				checkValid(t, with[i])
			} else {
				checkRequest(t, with[i])
			}
			if want, got := textsOf(bare[i]), textsOf(with[i]); !slices.Equal(want, got) {
				t.Errorf("the model reads %q, without magicctx %q", got, want)
			}
		})
	}
	checkBusts(t, managed, w.journal(session))
}

func (w *world) wholeFile() (session string, lines [][]byte) {
	w.t.Helper()
	p := w.startPi(w.user.WithPi(product.Host, w.project, w.mock.URL()))
	session = w.session(p)
	answers := slices.Repeat([]mockllm.Step{mockllm.Say("Yes.")}, 1+2*len(brokenFiles))
	w.play(session, append([]mockllm.Step{w.readNotes("toolu_broken1")}, answers...)...)
	w.prompt(p, session, "Read the notes.")
	state, err := p.State(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.stop(p)
	whole, err := os.ReadFile(state.SessionFile)
	if err != nil {
		w.t.Fatal(err)
	}
	lines = bytes.SplitAfter(whole, []byte("\n"))
	return session, lines[:len(lines)-1] // the file ends with a line break
}

// openEach lets Pi open the session once for each kind of damage. magicctx works, so Pi must show no notice.
func (w *world) openEach(o pitest.Options, whole [][]byte) (requests []*mockllm.Request) {
	w.t.Helper()
	p := w.startPi(o)
	newest := newestEntry(w.t, whole)
	for i, tc := range brokenFiles {
		file := filepath.Join(w.root, fmt.Sprintf("%d-%d.jsonl", p.PID, i))
		broken := bytes.Join(tc.damage(slices.Clone(whole), newest), nil)
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			w.t.Fatal(err)
		}
		if err := p.SwitchSession(w.ctx, file); err != nil {
			w.t.Fatal(err)
		}
		if _, err := p.Prompt(w.ctx, pitest.Prompt{Text: "Are you there?"}); err != nil {
			w.t.Fatal(err)
		}
		all := w.mock.Requests()
		requests = append(requests, all[len(all)-1])
	}
	for _, n := range p.UIRequests("notify") {
		w.t.Errorf("a notice: %s", n.Message)
	}
	if errs := p.ExtensionErrors(); len(errs) > 0 {
		w.t.Errorf("an extension fails: %q", errs)
	}
	w.stop(p)
	return requests
}

func newestEntry(t *testing.T, lines [][]byte) string {
	t.Helper()
	var entry struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &entry); err != nil || entry.ID == "" {
		t.Fatalf("the newest entry %s: %v", lines[len(lines)-1], err)
	}
	return entry.ID
}

var leadingTag = regexp.MustCompile(`^§\d+§ `)

func textsOf(r *mockllm.Request) (texts []string) {
	for _, m := range r.Messages {
		for _, c := range m.Content {
			texts = append(texts, m.Role+": "+leadingTag.ReplaceAllString(c.Text, ""))
		}
	}
	return texts
}
