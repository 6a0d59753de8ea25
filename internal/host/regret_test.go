package host

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/learn"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func (h *harness) calls(id, tool, input, output string) {
	h.t.Helper()
	now := h.clock.Now()
	h.add(`{"info":{"id":%q,"sessionID":"ses_1","role":"assistant","time":{"created":%d,"completed":%d},"providerID":"anthropic","modelID":"m","finish":"tool-calls",`+
		`"tokens":{"input":1000,"output":1,"cache":{"read":0,"write":0}}},"parts":[{"id":"p-%s","type":"tool","callID":"c-%s","tool":%q,`+
		`"state":{"status":"completed","input":%s,"output":%q}}]}`, id, now, now, id, id, tool, input, output)
	h.pass()
}

func (h *harness) reads(id, file, output string) {
	h.t.Helper()
	h.calls(id, "read", fmt.Sprintf(`{"filePath":%q}`, file), output)
}

// dropsReading plays a turn in which the model reads x.go with call-1, and then many other files. The model then asks
// to drop the result of call-1, and the newest pass busts and applies this drop.
func (h *harness) dropsReading() {
	h.t.Helper()
	h.user("u1", "find it")
	h.pass()
	h.reads("a1", "x.go", found)
	for n := range 25 {
		h.reads(fmt.Sprint("b", n), fmt.Sprint(n, ".go"), "y")
	}
	h.drop("call-1", "2")
	h.flush()
	h.pass()
}

func (h *harness) removals() []schema.Removal {
	h.t.Helper()
	return h.status().Sessions[0].Removals
}

// If the model soon reads a dropped result again, the host counts the drop as regret, under its rule and cause.
func TestRegretIsCountedByRuleAndCause(t *testing.T) {
	bothHarnesses(t, func(t *testing.T, kind schema.Harness) {
		h := newHarnessOf(t, kind)
		h.limits.Price = schema.Price{Fresh: 3, Write: 3.75, Read: 0.3, Output: 15}
		h.restart()
		h.dropsReading()
		want := []schema.Removal{{Rule: "queued drops", Cause: "flush", Tokens: h.removals()[0].Tokens}}
		if got := h.removals(); len(got) != 1 || got[0] != want[0] || got[0].Tokens < 30 {
			t.Fatalf("after the drop: %+v", got)
		}
		h.reads("c1", "x.go", found)
		want[0].Rereads, want[0].Reread = 1, 30 // `found` has 30 words
		for _, why := range []string{"read again", "read a third time", "after a restart"} {
			if d := cmp.Diff(want, h.removals()); d != "" {
				t.Errorf("%s (-want +got):\n%s", why, d)
			}
			if h.reads("c"+why, "x.go", found); why == "read a third time" {
				h.restart()
				h.pass()
			}
		}
		if got, want := h.status().Sessions[0].RereadCost, 30*3.75/1e6; got != want {
			t.Errorf("it cost %v, want %v", got, want)
		}
	})
}

func TestLateReadingIsNoRegret(t *testing.T) {
	for _, passes := range []int{19, 20} {
		h := newHarness(t)
		h.dropsReading()
		for n := range passes {
			h.reads(fmt.Sprint("c", n), fmt.Sprint("c", n, ".go"), "y")
		}
		h.reads("d", "x.go", found) // this is pass `passes` + 1 after the removal
		if got := h.removals()[0].Rereads == 1; got != (passes < 20) {
			t.Errorf("%d passes later: counted %v", passes+1, got)
		}
	}
}

// A summary removes messages from the prompt, too. So if the model soon reads such a message again with ctx_expand, the
// host counts this as regret.
func TestExpansionOfASummaryIsRegret(t *testing.T) {
	h := answering(t, good)
	h.talkLong()
	h.flush()
	h.pass()
	got := h.removals()
	if len(got) != 1 || got[0].Rule != "summaries" || got[0].Cause != "flush" || got[0].Tokens < 1000 || got[0].Rereads > 0 {
		t.Fatalf("after the summary: %+v", got)
	}
	page := h.expand(`{"start":1,"end":2}`)
	h.calls("x1", "ctx_expand", `{"start":1,"end":2}`, page)
	after := h.removals()
	if len(after) != 1 || after[0].Rereads == 0 || after[0].Reread == 0 || after[0].Reread > after[0].Tokens {
		t.Errorf("after ctx_expand: %+v", after)
	}
}

// Regret of a rule in one project has no effect on other projects.
func TestRegretBelongsToTheProject(t *testing.T) {
	h := newHarness(t)
	for i, s := range []struct {
		project string
		reread  int
	}{{"a", 0}, {"a", 3}, {"b", 2}, {"c", 3}, {"", 3}} {
		key := store.Key{Harness: "opencode", Session: fmt.Sprint("s", i)}
		c := store.PassCommit{Session: store.SessionRow{Key: key, Project: s.project, Mode: "primary", Passes: 1}, Pass: store.PassRow{Pass: 1, Verdict: "hard"}}
		c.Removals = []store.RemovalRow{{Rule: "tool reclaim", Tokens: 1000}, {Rule: "tiered drop", Tokens: 1000}}
		for tag := range 3 {
			c.Units = append(c.Units, store.UnitRow{Tag: tag + 1, UnitKey: fmt.Sprint(tag), MessageKey: "m", Kind: "tool"})
			c.Edits = append(c.Edits, store.EditRow{Tag: tag + 1, Kind: "drop", Pass: 1, Payload: "tool reclaim"})
		}
		if err := h.store.CommitPass(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.Units, c.Edits, c.Removals, c.Pass.Pass, c.Session.Passes = nil, nil, nil, 2, 2
		for tag := range s.reread {
			c.Rereads = append(c.Rereads, store.RereadRow{Tag: tag + 1, Tokens: 27}) // three times 27 is 8.1 % of 1,000, and 4.05 % of 2,000
		}
		if err := h.store.CommitPass(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for project, want := range map[string][]string{"a": {"tool reclaim"}, "b": nil, "c": {"tool reclaim"}, "d": nil, "": nil} {
		ps := &pass.Pass{Session: &session.Session{Row: store.SessionRow{Project: project}}}
		isRegretted := learn.New(learn.Options{Store: h.store}).IsRegretted(t.Context(), ps)
		got := slices.DeleteFunc([]string{"tool reclaim", "tiered drop"}, func(rule string) bool { return !isRegretted(rule) })
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", project, got, want)
		}
	}
}
