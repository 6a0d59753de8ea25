package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

func (h *harness) command(line string) string {
	h.t.Helper()
	name, arguments, _ := strings.Cut(line, " ")
	r, err := h.host.CommandExecute(h.t.Context(), h, schema.CommandExecuteParams{Session: testSession, Directory: "/p", Command: name, Arguments: arguments})
	if err != nil {
		h.t.Fatal(err)
	}
	return r.Message
}

func (h *harness) dropped() []schema.DroppedUnit {
	h.t.Helper()
	st, err := h.host.SessionStatus(h.t.Context(), h, schema.SessionStatusParams{Harness: schema.HarnessOpenCode, Session: testSession, Dropped: true})
	if err != nil {
		h.t.Fatal(err)
	}
	return st.DroppedUnits
}

// /ctx-flush shows the same figures as the bust of the next pass, because both run the same code.
func TestFlushDescribesTheNextBust(t *testing.T) {
	h := turn(t)
	if got := h.command("ctx-flush"); got != "There is nothing to free now. Old content that the model has not marked goes when the prompt has grown." {
		t.Errorf("before any drop: %s", got)
	}
	if m := h.pass(); m.Verdict != schema.Steady {
		t.Errorf("the pass after it is %s (%s), although there was nothing to free", m.Verdict, m.Cause)
	}
	h.limits.Price = schema.Price{Fresh: 1000, Write: 1250, Read: 100}
	h.restart()
	h.pass()
	h.drop("call_1", "2")
	said := h.command("ctx-flush")
	h.pass()
	p := h.journal()[len(h.journal())-1]
	if p.Cause != "flush" || p.Price.Removed == 0 {
		t.Fatalf("the pass freed %d, cause %q", p.Price.Removed, p.Cause)
	}
	want := fmt.Sprintf("%s → %s with the next request: 1 result dropped. The cache is rebuilt because you asked for it: about %s tokens are sent again, which costs about ",
		format.Tokens(p.SizeTokens), format.Tokens(p.SizeTokens-p.Price.Removed), format.Tokens(p.Price.Resent))
	if !strings.HasPrefix(said, want) || !strings.HasSuffix(said, " now. /ctx-menu taken brings dropped pieces back.") {
		t.Errorf("said %q, want %q", said, want)
	}
}

func TestFlushOfASessionThatIsNotInMemorySaysSo(t *testing.T) {
	h := turn(t)
	h.restart()
	if got := h.command("ctx-flush"); !strings.Contains(got, "not known") {
		t.Errorf("said %q", got)
	}
}

func TestDroppedUnitsNameTheirRule(t *testing.T) {
	h := turn(t)
	if got := h.dropped(); len(got) != 0 {
		t.Fatalf("dropped before any bust: %+v", got)
	}
	h.drop("call_1", "2")
	h.command("ctx-flush")
	h.pass()
	got := h.dropped()
	if len(got) != 1 {
		t.Fatalf("%d units, want the one that was marked: %+v", len(got), got)
	}
	u, pass := got[0], h.journal()[len(h.journal())-1]
	if u.Tag != 2 || u.Tool != "read" || u.Rule != "queued drops" || u.Pass != pass.Pass || u.At != pass.At || u.Cause != "flush" || u.Tokens == 0 || !strings.Contains(u.About, `"f"`) {
		t.Errorf("got %+v, dropped by %+v", u, pass)
	}
	if text := h.command("ctx-status"); !strings.Contains(text, "§2§ read") || !strings.Contains(text, "marked by the model") {
		t.Errorf("/ctx-status says:\n%s", text)
	}
	h.restart()
	if got := h.dropped(); len(got) != 1 || got[0].About != "" || got[0].Rule != u.Rule || got[0].Tokens != u.Tokens {
		t.Errorf("after a restart: %+v, want the same without its first words", got)
	}
}

func TestStatusOfASessionWithoutAPassIsNoError(t *testing.T) {
	if got := newHarness(t).command("ctx-status"); !strings.Contains(got, "no request") {
		t.Errorf("said %q", got)
	}
}

func TestStatusShowsTheTitleOfTheHarness(t *testing.T) {
	h := newHarness(t)
	rename := func(title string) {
		t.Helper()
		event := fmt.Appendf(nil, `{"type":"session.updated","properties":{"info":{"id":%q,"title":%q}}}`, testSession, title)
		if _, err := h.host.Event(t.Context(), h, schema.EventParams{Session: testSession, Directory: "/p", Event: event}); err != nil {
			t.Fatal(err)
		}
	}
	rename("too early") // the store does not know the session yet, and a title must not create it
	if n := len(h.status().Sessions); n != 0 {
		t.Fatalf("%d sessions by a title", n)
	}
	h.user("u1", "hello")
	h.pass()
	for _, title := range []string{"too early", "Greeting", "Greeting"} {
		rename(title)
		if got := h.status().Sessions[0].Title; got != title {
			t.Errorf("title %q, want %q", got, title)
		}
	}
	h.restart()
	h.pass()
	if got := h.status().Sessions[0].Title; got != "Greeting" {
		t.Errorf("title %q after a restart and a pass", got)
	}
}
