package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/memories"
)

// observing is a historian that notices a trait even if the host has not asked for one.
func observing(p schema.AgentRunParams) (string, error) {
	text, err := good(p)
	start := historiantest.RangeOf(p.Prompt).Start
	noticed := fmt.Sprintf("<user_observations>\n* [%d] prefers polite prompts. U: Please do %d\n", start, start/2)
	return strings.Replace(text, "<user_observations>", noticed, 1), err
}

func (h *harness) another(session string) {
	h.t.Helper()
	other := h.fork(session, 0)
	other.user("x", "hello")
	other.pass()
	err := h.store.Update(h.ctx, func(tx *database.Tx) error {
		o := chronicle.Observation{Content: "Prefers polite prompts.", Words: "please, " + session, Source: chronicle.Range{Start: 1, End: 1}}
		return memories.Observe(tx, []chronicle.Observation{o}, h.config.Dreamer.UserMemories.PromotionThreshold, string(h.kind), session, h.clock.Now())
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) aboutUser() []chronicle.Memory {
	h.t.Helper()
	all, err := h.store.Memories.OfUser(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// If the user has consented, a trait that three sessions have shown becomes a memory. New sessions in all projects
// show the memory, until the user archives it.
func TestTraitOfTheUserReachesAllProjects(t *testing.T) {
	h := answering(t, observing)
	h.config.Dreamer.UserMemories.Enabled = true
	h.restart()
	h.talkLong()
	h.flush()
	if h.pass(); len(h.aboutUser()) != 0 {
		t.Fatalf("one session makes a memory: %+v", h.aboutUser())
	}
	h.another("ses_2")
	if len(h.aboutUser()) != 0 {
		t.Fatalf("two sessions make a memory: %+v", h.aboutUser())
	}
	h.another("ses_3")
	if all := h.aboutUser(); len(all) != 1 || all[0].Seen != 3 {
		t.Fatalf("three sessions make no memory: %+v", all)
	}
	before := h.wire()
	h.tool("b1", "x", "stop", 20_000)
	h.user("u2", "go on")
	if h.pass(); !strings.HasPrefix(h.wire(), before) {
		t.Error("the memory has changed the prefix")
	}
	const line = `<memory id="1" category="USER_PREFERENCES" importance="50">Prefers polite prompts.</memory>`
	h.flush()
	if h.pass(); !strings.Contains(h.wire(), "<new-user-memories>") || !strings.Contains(h.wire(), line) {
		t.Errorf("the delta lacks the memory:\n%.3000s", h.wire())
	}
	h.project = t.TempDir()
	fresh := h.fork("ses_fresh", 0)
	fresh.user("f1", "hello")
	if m := fresh.pass(); !strings.Contains(fmt.Sprintf("%s", m.Head), "<user-memory>") || !strings.Contains(decoded(m), line) {
		t.Errorf("another project does not see it: %s", m.Head)
	}
	h.edits(func(e *memories.Editor) error { _, err := e.Archive("", []int64{1}, "no"); return err })
	last := h.fork("ses_last", 0)
	last.user("l1", "hello")
	if m := last.pass(); strings.Contains(decoded(m), "polite") {
		t.Errorf("it is shown although it is archived: %s", m.Head)
	}
	if h.another("ses_4"); len(h.aboutUser()) != 0 {
		t.Error("it has come back")
	}
}

func decoded(m schema.WireMutation) string {
	return strings.ReplaceAll(fmt.Sprintf("%s", m.Head), `\"`, `"`)
}

func TestWithoutConsentNothingIsNoted(t *testing.T) {
	asked := ""
	h := answering(t, func(p schema.AgentRunParams) (string, error) {
		asked += p.Prompt
		return observing(p)
	})
	h.edits(func(e *memories.Editor) error {
		m := chronicle.Memory{Project: chronicle.UserProject, Category: chronicle.UserCategory, Content: "Likes zebras.", Source: chronicle.FromUser}
		_, _, err := e.Write(m)
		return err
	})
	h.talkLong()
	h.flush()
	if h.pass(); len(h.compartments()) == 0 || strings.Contains(h.wire(), "zebra") {
		t.Errorf("the head shows something about the user:\n%.3000s", h.wire())
	}
	if asked == "" || strings.Contains(asked, "The user has agreed") || strings.Contains(asked, "zebra") {
		t.Error("the historian was asked about the user, or told of the user")
	}
	h.config.Dreamer.UserMemories.PromotionThreshold = 2
	h.another("ses_2")
	if all := h.aboutUser(); len(all) != 1 {
		t.Errorf("an observation was stored: %+v", all)
	}
}

func TestModelCannotChangeWhatIsAboutTheUser(t *testing.T) {
	h := newHarness(t)
	h.config.Dreamer.UserMemories.Enabled = true
	h.restart()
	h.user("u1", "hello")
	h.pass()
	h.edits(func(e *memories.Editor) error {
		var all error
		for _, content := range []string{"Likes zebras.", "Likes giraffes."} {
			_, _, err := e.Write(chronicle.Memory{Project: chronicle.UserProject, Category: chronicle.UserCategory, Content: content, Source: chronicle.FromUser})
			all = errors.Join(all, err)
		}
		return all
	})
	for i, args := range []string{
		`{"action":"update","ids":[1],"content":"x"}`, `{"action":"archive","ids":[1]}`, `{"action":"merge","ids":[1,2],"content":"x"}`,
		`{"action":"write","category":"USER_PREFERENCES","content":"Likes lions."}`,
	} {
		if got := h.callAs(fmt.Sprint("c", i), transcript.MemoryTool, args); !strings.HasPrefix(got, "Error: ") {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := h.callAs("list", transcript.MemoryTool, `{"action":"list"}`); strings.Contains(got, "zebra") {
		t.Error(got)
	}
	if all := h.aboutUser(); len(all) != 2 {
		t.Errorf("%+v", all)
	}
}
