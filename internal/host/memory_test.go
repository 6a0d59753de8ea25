package host

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// remembering returns a session whose head shows the memory 1.
func remembering(t *testing.T) *harness {
	t.Helper()
	h := answering(t, learning)
	h.talkLong()
	h.flush()
	h.pass()
	if !strings.Contains(h.wire(), `<memory id="1"`) {
		t.Fatal("the head shows no memory")
	}
	return h
}

// The head of a session shows a memory, and the user deletes it (magicctx-host memory rm). After /ctx-flush, the delta says so,
// because the baseline still shows the memory until the next fold.
func TestDeltaTellsOfForgottenMemories(t *testing.T) {
	h := remembering(t)
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
	c, err := h.host.sessions.ReadChronicle(t.Context(), s)
	if err != nil {
		s.Unlock()
		t.Fatal(err)
	}
	want := []chronicle.MemoryChange{{ID: 1, Project: project, Kind: chronicle.MemoryDeleted, Memory: 1}}
	got := c.MemoryChanges
	s.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if strings.Contains(h.wire(), "<removed") {
		t.Error("a pass that does not bust has told of it")
	}
	h.flush()
	h.pass()
	if !strings.Contains(h.wire(), `<removed id="1"/>`) {
		t.Error("the pass after a flush does not tell of it")
	}
	told := h.row().Busts
	h.flush()
	h.pass()
	if busts := h.row().Busts; busts != told {
		t.Errorf("another flush busts the prompt, although the model was told: %d busts, want %d", busts, told)
	}
}

// If memories are switched off, the head has neither their section nor their changes.
func TestNoMemoryIfSwitchedOff(t *testing.T) {
	h := remembering(t)
	if err := h.store.Memories.Change(t.Context(), chronicle.MemoryChange{Project: h.row().Project, Kind: chronicle.MemoryDeleted, Memory: 1}); err != nil {
		t.Fatal(err)
	}
	h.config.Memory.Enabled = false
	h.restart()
	h.flush()
	h.pass()
	if strings.Contains(h.wire(), "<removed") {
		t.Error("the head tells of a change")
	}
	h.clock.Advance(24 * time.Hour) // the cache is cold, so the pass is hard and folds
	h.user("later", "go on")
	h.pass()
	if head := h.wire(); !strings.Contains(head, "Told of") || strings.Contains(head, "<memory") {
		t.Errorf("the head after a fold: %.2000s", head)
	}
}
