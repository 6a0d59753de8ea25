package replay

import (
	"sync"

	"github.com/magicctx/magicctx-host/pipeline"
)

// A Taken is one unit that a pass has edited, for example a dropped tool call.
type Taken struct {
	Tag int `json:"tag"`
	// Edit is the kind of the edit, for example "drop". Rule is the rule that proposed it.
	Edit string `json:"edit"`
	Rule string `json:"rule"`
	// Unit is "text", "file" or "tool". Label describes the unit from the trace: the file of the call, its most
	// telling argument, or the first words of the text.
	Unit  string `json:"unit"`
	Tool  string `json:"tool,omitempty"`
	Label string `json:"label,omitempty"`
	// Tokens estimates by how much the edit shortens the prompt.
	Tokens int `json:"tokens"`
}

// The host calls `add` while it serves a pass.
type taken struct {
	mu     sync.Mutex
	byPass map[passKey][]Taken
}

type passKey struct {
	session string
	pass    int
}

func (t *taken) add(session string, pass int, edits []pipeline.Taken) {
	all := make([]Taken, 0, len(edits))
	for _, e := range edits {
		all = append(all, Taken{Tag: e.Tag, Edit: string(e.Kind), Rule: e.Rule, Unit: string(e.Unit), Tool: e.Tool, Label: e.Label, Tokens: e.Freed})
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPass == nil {
		t.byPass = make(map[passKey][]Taken)
	}
	t.byPass[passKey{session, pass}] = all
}

// The method `of` returns the edits of a pass and forgets them.
func (t *taken) of(session string, pass int) []Taken {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := passKey{session, pass}
	all := t.byPass[key]
	delete(t.byPass, key)
	return all
}
