package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
)

func (h *harness) keepPieces(letGo bool, tags ...int) ([]schema.KeptUnit, error) {
	h.t.Helper()
	r, err := h.host.Keep(h.t.Context(), h, schema.KeepParams{Harness: schema.HarnessOpenCode, Session: testSession, Tags: tags, LetGo: letGo})
	return r.KeptUnits, err
}

// If the user keeps a removed piece, the next bust brings it back verbatim, even after a restart. From then on,
// ctx_reduce cannot remove the piece.
func TestKeptPieceComesBackWithTheNextBust(t *testing.T) {
	h := turn(t)
	h.drop("call_1", "2")
	h.command("ctx-flush")
	h.pass()
	if strings.Contains(h.wire(), found) {
		t.Fatalf("the piece is still there:\n%s", h.wire())
	}
	before := h.wire()
	if got := h.choose("taken").Choices; len(got) != 1 || !strings.HasPrefix(got[0].Label, "Bring back §2§ read") || got[0].Arguments != "taken keep 2" {
		t.Errorf("the menu offers %+v", got)
	}
	if got := h.choose("taken keep 2"); !strings.Contains(got.Text, "You keep 1 piece.") || !strings.HasPrefix(got.Choices[0].Label, "Let go of §2§ read") {
		t.Errorf("the menu answers %+v", got)
	}
	for arguments, says := range map[string]string{"taken keep 99": "Nothing is changed: this session has no piece §99§.", "taken keep x": "with the number of a piece", "taken eat 2": "with the number of a piece"} {
		if got := h.choose(arguments).Text; !strings.Contains(got, says) {
			t.Errorf("%s: %q", arguments, got)
		}
	}
	kept, err := h.keepPieces(false, 2)
	if err != nil || len(kept) != 1 || kept[0].Tag != 2 || kept[0].Tool != "read" || !kept[0].Waits {
		t.Fatalf("kept %+v, error %v", kept, err)
	}
	h.pass()
	if h.wire() != before {
		t.Errorf("a pass without a bust changed the wire to\n%s\nfrom\n%s", h.wire(), before)
	}
	if said := h.command("ctx-flush"); !strings.HasPrefix(said, "The next request brings back 1 piece that you keep. The cache is rebuilt because you asked for it: about ") {
		t.Errorf("/ctx-flush says %q", said)
	}
	h.restart()
	h.command("ctx-flush")
	h.pass()
	if !strings.Contains(h.wire(), found) || len(h.dropped()) != 0 {
		t.Fatalf("the piece has not come back:\n%s", h.wire())
	}
	st, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: testSession, Dropped: true})
	if err != nil || len(st.KeptUnits) != 1 || st.KeptUnits[0].Waits || st.Dropped != 0 {
		t.Errorf("the status lists %+v, and counts %d dropped pieces; error %v", st.KeptUnits, st.Dropped, err)
	}
	if reply := h.drop("call_2", "2"); !strings.Contains(reply, "the user keeps") {
		t.Errorf("ctx_reduce answers %q", reply)
	}
	h.command("ctx-flush")
	h.pass()
	if !strings.Contains(h.wire(), found) {
		t.Error("ctx_reduce took a kept piece")
	}
	h.restart()
	if kept, err := h.keepPieces(true, 2); err != nil || len(kept) != 0 {
		t.Errorf("after letting it go: %+v, error %v", kept, err)
	}
	h.pass()
	h.drop("call_3", "2")
	h.command("ctx-flush")
	h.pass()
	if strings.Contains(h.wire(), found) {
		t.Error("a piece that was let go cannot be dropped")
	}
}

// The menu offers only pieces that can come back. It leaves out pieces of messages that are summarised or undone.
func TestMenuOffersNoSummarisedPiece(t *testing.T) {
	h, _ := scripted(t)
	h.talk(0, 12, 50, 20_000)
	h.user("now", "go on")
	h.pass()
	h.drop("call_1", "3,6")
	h.command("ctx-flush")
	h.pass()
	offers := func() (tags []string) {
		for _, c := range h.choose("taken").Choices {
			if strings.HasPrefix(c.Label, "Bring back ") {
				tags = append(tags, c.Arguments)
			}
		}
		return tags
	}
	if got := offers(); len(got) != 2 {
		t.Fatalf("offered %q", got)
	}
	all := h.messages
	h.revertFrom(5) // the message of §6§ is gone
	h.user("later", "another way")
	h.pass()
	if got, page := offers(), h.choose("taken"); len(got) != 1 || !strings.Contains(page.Text, "Not listed: 1 piece of messages that are summarised or undone.") {
		t.Errorf("after a revert, offered %q with %q", got, page.Text)
	}
	h.messages, h.told = all, 4
	h.pass()
	if got := offers(); len(got) != 2 {
		t.Errorf("when the messages are back, offered %q", got)
	}
}

// The bug: /ctx-status listed pieces that /ctx-menu cannot bring back, because summaries have replaced their
// messages.
func TestStatusListsNoSummarisedPiece(t *testing.T) {
	h, script := scripted(t)
	script.answer = inParts("Old")
	h.talk(0, 30, 300, 20_000)
	h.user("now", "go on")
	h.pass()
	h.drop("call_1", "3,58")
	h.command("ctx-flush")
	h.pass()
	const list = "Taken out of the prompt. /ctx-menu taken brings a piece back:\n"
	status := func() (said, screen string) {
		st, err := h.host.SessionStatus(t.Context(), h, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: testSession, Columns: 200})
		if err != nil {
			t.Fatal(err)
		}
		return h.command("ctx-status"), strings.Join(st.Screen, "\n")
	}
	said, screen := status()
	if _, drops, _ := strings.Cut(said, list); strings.Count(drops, "\n§") != 1 || strings.Contains(said+screen, "Not listed") || !strings.Contains(screen, "\n§3§") {
		t.Fatalf("at first: %q\n%s", said, screen)
	}
	h.command("ctx-wrapup")
	h.settle()
	h.pass()
	said, screen = status()
	const rest = "\nNot listed: 1 piece of messages that are summarised. /ctx-menu summaries shows the summaries and the messages."
	if _, drops, _ := strings.Cut(said, list); !strings.HasPrefix(drops, "§58§") || !strings.HasSuffix(drops, rest) || strings.Count(drops, "§") != 2 {
		t.Errorf("with summaries: %q", said)
	}
	if !strings.HasSuffix(screen, rest) || strings.Contains(screen, "\n§3§") || !strings.Contains(screen, "\n§58§") {
		t.Errorf("with summaries, the screen is\n%s", screen)
	}
}

// Pi's list of choices must not be taller than the terminal.
func TestPageOfTheMenuHasFewChoices(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "zebra")
	var texts, tags []string
	for i := range 20 {
		h.tool(fmt.Sprint("a", i), found, "tool-calls", 1000)
		tags = append(tags, fmt.Sprint(i+2))
		texts = append(texts, fmt.Sprint("a zebra of kind ", i))
	}
	h.tool("z", "the end", "stop", 1000)
	h.user("u2", "go on")
	h.pass()
	h.drop("call_1", strings.Join(tags, ","))
	h.command("ctx-flush")
	h.pass()
	here := project.OfDirectory("/p")
	h.edits(func(e *memories.Editor) error {
		for _, text := range texts {
			if _, _, err := e.Write(chronicle.Memory{Project: here, Content: text, Category: "NAMING", Source: "user"}); err != nil {
				return err
			}
		}
		return nil
	})
	h.indexes(index.Session{Harness: "pi", ID: "s2", Project: here}, texts...)
	check := func(arguments, more string) {
		t.Helper()
		if page := h.choose(arguments); len(page.Choices) != 15 || !strings.Contains(page.Text, more) {
			t.Errorf("%s: %d choices, %q", arguments, len(page.Choices), page.Text)
		}
	}
	check("memories", "; 5 more are in ")
	check("search zebra", "")
	check("taken", " older ones have no line here")
	for _, tag := range tags[:17] {
		h.choose("taken keep " + tag)
	}
	check("taken", "You keep 17 pieces.")
}

func TestUnknownPieceCannotBeKept(t *testing.T) {
	h := turn(t)
	if kept, err := h.keepPieces(false, 2, 99); err == nil || !strings.Contains(err.Error(), "§99§") {
		t.Errorf("kept %+v, error %v", kept, err)
	}
	if kept, err := h.keepPieces(true, 2); err != nil || len(kept) != 0 {
		t.Errorf("a refused call kept %+v, error %v", kept, err)
	}
}
