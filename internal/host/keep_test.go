package host

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
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
	if got := h.choose("taken").Choices; len(got) == 0 || !strings.HasPrefix(got[0].Label, "Bring back §2§ read") || got[0].Arguments != "taken keep 2" {
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

func TestUnknownPieceCannotBeKept(t *testing.T) {
	h := turn(t)
	if kept, err := h.keepPieces(false, 2, 99); err == nil || !strings.Contains(err.Error(), "§99§") {
		t.Errorf("kept %+v, error %v", kept, err)
	}
	if kept, err := h.keepPieces(true, 2); err != nil || len(kept) != 0 {
		t.Errorf("a refused call kept %+v, error %v", kept, err)
	}
}
