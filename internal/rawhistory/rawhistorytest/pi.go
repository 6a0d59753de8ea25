package rawhistorytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

type Pi struct {
	t    testing.TB
	Path string
	// Leaf is the id of the next entry's parent, or "".
	Leaf    string
	entries int
}

// NewPi creates the file of a session of the project /p, with its header.
func NewPi(t testing.TB, home, session string) *Pi {
	t.Helper()
	dir := filepath.Join(home, ".pi", "agent", "sessions", "--p--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := &Pi{t: t, Path: filepath.Join(dir, "2026-11-20T11-18-22-271Z_"+session+".jsonl")}
	p.Line(fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-11-20T11:18:22.271Z","cwd":"/p"}`, session))
	return p
}

func (p *Pi) Line(line string) { p.Append(line + "\n") }

// Append appends bytes, for example half a line.
func (p *Pi) Append(text string) {
	p.t.Helper()
	f, err := os.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := f.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Entry appends an entry after the leaf. `members` contains more JSON members for the entry, for example
// `"message":{"role":"user"}`, or is empty.
func (p *Pi) Entry(kind, members string) (id string) {
	p.t.Helper()
	line, id := p.NextLine(kind, members)
	p.Line(line)
	p.Leaf = id
	return id
}

func (p *Pi) NextLine(kind, members string) (line, id string) {
	p.entries++
	id = fmt.Sprintf("%08x", p.entries)
	parent := "null"
	if p.Leaf != "" {
		parent = fmt.Sprintf("%q", p.Leaf)
	}
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"type":%q,"id":%q,"parentId":%s,"timestamp":"2026-11-20T11:18:23.000Z"%s}`, kind, id, parent, members), id
}

// Message appends an entry for a message of Pi's array, in the form in which Pi stores the message. For a custom
// message and for the summary of a branch, Pi uses special kinds of entries.
func (p *Pi) Message(raw json.Value) (id string) {
	p.t.Helper()
	var m struct {
		Role string `json:"role"`
	}
	_ = json.Unmarshal(raw, &m) // a message may be anything, not only an object
	switch m.Role {
	case "custom":
		return p.Entry("custom_message", p.membersOf(raw, "customType", "content", "display", "details"))
	case "branchSummary":
		return p.Entry("branch_summary", p.membersOf(raw, "summary", "fromId"))
	}
	return p.Entry("message", `"message":`+string(raw))
}

func (p *Pi) membersOf(raw json.Value, names ...string) string {
	var members map[string]json.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, name := range names {
		if v, ok := members[name]; ok {
			all = append(all, fmt.Sprintf("%q:%s", name, v))
		}
	}
	return strings.Join(all, ",")
}
