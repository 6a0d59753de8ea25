package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/schema"
)

// learning answers as a historian that learns a fact.
func learning(p schema.AgentRunParams) (string, error) {
	text, err := good(p)
	fact := "<facts><NAMING>\n* [" + historiantest.RangeOf(p.Prompt).String() + "] \"Please do\" begins prompts\n</NAMING></facts>"
	return strings.Replace(text, "<facts></facts>", fact, 1), err
}

// The head of a session shows a memory, and the user deletes it (magicctx-host memory rm). The next delta says so,
// because the baseline still has its line until the next fold.
func TestDeltaTellsOfForgottenMemories(t *testing.T) {
	h := answering(t, learning)
	h.talkLong()
	h.flush()
	h.pass()
	if !strings.Contains(h.wire(), `<memory id="1"`) {
		t.Fatal("the head shows no memory")
	}
	project := h.row().Project
	if err := h.store.Memories.Change(t.Context(), chronicle.MemoryChange{Project: project, Kind: chronicle.MemoryDeleted, Memory: 1}); err != nil {
		t.Fatal(err)
	}
	h.restart()
	h.pass()
	s, err := h.host.sessions.Lock(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Unlock()
	c, err := h.host.sessions.ReadChronicle(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := []chronicle.MemoryChange{{ID: 1, Project: project, Kind: chronicle.MemoryDeleted, Memory: 1}}
	if got := c.MemoryChanges; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
