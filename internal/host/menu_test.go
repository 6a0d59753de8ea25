package host

import (
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
)

func (h *harness) choose(arguments string) *schema.Page {
	h.t.Helper()
	r, err := h.host.CommandExecute(h.t.Context(), h, schema.CommandExecuteParams{Session: testSession, Directory: "/p", Command: "ctx-menu", Arguments: arguments})
	if err != nil {
		h.t.Fatalf("%s: %v", arguments, err)
	}
	if r.Page == nil {
		return &schema.Page{Text: r.Message}
	}
	for i, c := range r.Page.Choices {
		if strings.ContainsAny(c.Label, "\n\x1b\u202e") || slices.ContainsFunc(r.Page.Choices[:i], func(other schema.Choice) bool { return other.Label == c.Label }) {
			h.t.Errorf("%s: the label %q", arguments, c.Label)
		}
		if !strings.Contains(r.Message, c.Label) {
			h.t.Errorf("%s: the words lack the choice %q", arguments, c.Label)
		}
	}
	return r.Page
}

func TestMenu(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	here := project.OfDirectory("/p")
	h.edits(func(e *memories.Editor) error {
		for _, m := range []chronicle.Memory{
			{Project: here, Content: "Hosts are called \x1b[31mmagicctx\x1b[0m\u202e-host", Category: "NAMING", Source: "user"},
			{Project: "git:other", Content: "a secret of another project", Category: "NAMING", Source: "user"},
		} {
			if _, _, err := e.Write(m); err != nil {
				return err
			}
		}
		return nil
	})
	h.indexes(index.Session{Harness: "pi", ID: "s2", Project: here}, "The zebra eats \x1b[2J grass")

	for _, step := range []struct{ arguments, says string }{
		{"", ""},
		{"memories", "1 memory of this project"},
		{"memory 1", "Hosts are called magicctx-host\nnaming, active"},
		{"memory 1 edit Hosts have names.", "It is changed. Models see the new text"},
		{"memory 1", "Hosts have names.\nnaming, active"},
		{"memory 1 edit", "Nothing is changed: "},
		{"memory 1 archive", "It is archived."},
		{"memory 1 archive", "Nothing is changed: "},
		{"memory 1 restore", "Models see it from"},
		{"memory 2", "Nothing is changed: "},
		{"memory 2 archive", "Nothing is changed: "},
		{"memory x", "needs the number"},
		{"search zebra", `1 finding for "zebra"`},
		{"search xyzzy", "Nothing found."},
		{"search", "the query has no words"},
		{"message 1", "user: hello"},
		{"message 99", "Nothing is shown: there is no message 99"},
		{"taken", "Dropped: nothing of "},
		{"nonsense", `There is no "nonsense"`},
	} {
		if got := h.choose(step.arguments).Text; !strings.Contains(got, step.says) || strings.ContainsRune(got, '\x1b') {
			t.Errorf("/ctx-menu %s says %q, want %q", step.arguments, got, step.says)
		}
	}
	if got := h.choose("search zebra").Choices; len(got) != 2 || got[0].Arguments != "message 1 s2" || !strings.Contains(got[0].Label, "The zebra eats  grass") {
		t.Errorf("a search leads to %+v", got)
	}
	if got := h.choose("memories").Choices; len(got) != 1 || got[0].Label != "1. Hosts have names." || got[0].Arguments != "memory 1" {
		t.Errorf("the memories are %+v", got)
	}
}

// The bug: a dialog showed a message in the form that ctx_expand has for the model, with border lines and instructions
// for the model. At the end of a long message, it showed the arguments of the model's next call. It must show a command
// with which a person can read the rest.
func TestMenuShowsAMessageToAPerson(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "first\n"+strings.Repeat("a long line\n", 1000))
	h.pass()
	got := h.choose("message 1").Text
	if !strings.HasPrefix(got, "user: first\n    a long line\n") || strings.Contains(got, "record") {
		t.Errorf("the message begins with %.200q", got)
	}
	if want := " is not shown here. All of it: "; !strings.Contains(got, want) || !strings.HasSuffix(got, " history expand "+testSession+" 1") {
		t.Errorf("the message ends with %q", got[len(got)-200:])
	}
}

// The bug: for a session with summaries, the page "taken" said only "nothing", and offered a command that failed.
func TestMenuShowsTheSummaries(t *testing.T) {
	h, _ := summarised(t)
	page := h.choose("taken")
	if want := "messages 1-56 are summarised"; !strings.Contains(page.Text, want) || page.Choices[0].Arguments != "summaries" {
		t.Fatalf("taken: %+v, want %q", page, want)
	}
	page = h.choose("summaries")
	var got []string
	for _, c := range page.Choices {
		about, _, _ := strings.Cut(c.Label, ": ")
		got = append(got, about+", "+c.Arguments)
	}
	if len(got) != 7 || got[0] != "Messages 51-56, summary 51" || got[6] != "Back to what was taken out, taken" {
		t.Errorf("the summaries are %q", got)
	}
	page = h.choose("summary 15")
	if !strings.Contains(page.Text, "Old of 11-20") || page.Choices[0].Arguments != "message 11" {
		t.Errorf("the summary is %+v", page)
	}
	if got := h.choose("message 11").Text; !strings.HasPrefix(got, "user: Please do 5.") || strings.Contains(got, "===") {
		t.Errorf("the message is %q", got)
	}
	for _, arguments := range []string{"summary", "summary 57", "summary x"} {
		if got := h.choose(arguments).Text; !strings.Contains(got, "needs the number of a message") {
			t.Errorf("%s: %q", arguments, got)
		}
	}

	// A page has at most 15 choices.
	db := h.database()
	defer db.Close()
	if _, err := db.Exec(`DELETE FROM compartments WHERE start_ordinal > 1;
		UPDATE compartments SET start_ordinal = 1, end_ordinal = 1;
		WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
		INSERT INTO compartments (harness, session_id, seq, start_ordinal, end_ordinal, title, p1, made_by, created_at)
		SELECT harness, session_id, i, i, i, 'zebra ' || char(27, 0x202e) || '[2J', char(27, 0x202e) || '[2Jzebra', 'model', 1 FROM compartments, n`); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ arguments, first, last string }{
		{"summaries", "summary 40", "summaries 28"}, {"summaries 28", "summary 27", "summaries 15"}, {"summaries 15", "summary 14", "summaries 2"}, {"summaries 2", "summary 1", "summary 1"},
	} {
		all := h.choose(step.arguments).Choices
		if n := len(all); n > 15 || all[0].Arguments != step.first || all[n-2].Arguments != step.last {
			t.Errorf("%s: %+v", step.arguments, all)
		}
	}
	if text := h.choose("summary 15").Text; strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "zebra") {
		t.Errorf("the summary is %q", text)
	}
}

// Memories and titles may contain escape sequences, and these must not reach the terminal. A text that the user may
// edit loses only the escape sequences. Otherwise, saving it would lose other parts of the text.
func TestHostileDatabaseInTheMenu(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	here := project.OfDirectory("/p")
	h.edits(func(e *memories.Editor) error {
		_, _, err := e.Write(chronicle.Memory{Project: here, Content: "a fact", Category: "NAMING", Source: "user"})
		return err
	})
	db := h.database()
	defer db.Close()
	if _, err := db.Exec(`UPDATE memories SET category = ?1, content = ?2`, "NAM\x1b[2J\u202eING\nx", "a \"fact\"\n\t<with> \x1b[31m§ two\u202e lines"); err != nil {
		t.Fatal(err)
	}
	h.indexes(index.Session{Harness: "pi", ID: "s2\x1b[2J\u202e", Project: here}, "The zebra eats grass")
	for _, arguments := range []string{"memories", "memory 1", "search zebra"} {
		r, err := h.host.CommandExecute(t.Context(), h, schema.CommandExecuteParams{Session: testSession, Directory: "/p", Command: "ctx-menu", Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{r.Message, r.Page.Text}
		for _, c := range r.Page.Choices {
			texts = append(texts, c.Label, c.About, c.Arguments, c.Value)
		}
		if all := strings.Join(texts, "|"); strings.ContainsAny(all, "\x1b\u202e") || len(r.Page.Choices) == 0 {
			t.Errorf("%s: %q", arguments, all)
		}
	}
	page := h.choose("memory 1")
	if got := page.Choices[0].Value; got != "a \"fact\"\n\t<with> § two lines" {
		t.Errorf("the text to edit is %q", got)
	}
	if !strings.Contains(page.Text, "\nnaming x, active") {
		t.Errorf("the page is %q", page.Text)
	}
}

// OpenCode's plugin in the terminal is a client without a harness. The host runs its commands on behalf of a shim. If
// no shim of the right harness has the directory open, the host refuses the command.
func TestCommandOfATerminal(t *testing.T) {
	h := newHarness(t)
	h.user("u1", "hello")
	h.pass()
	terminal, pi := &struct{ *harness }{h}, &struct{ *harness }{h}
	if _, err := h.host.Initialize(t.Context(), pi, schema.InitializeParams{Harness: schema.HarnessPi, Directory: "/of/pi"}); err != nil {
		t.Fatal(err)
	}
	run := func(c client.Client, kind schema.Harness, directory string) (schema.CommandExecuteResult, error) {
		return h.host.CommandExecute(t.Context(), c, schema.CommandExecuteParams{Harness: kind, Session: testSession, Directory: directory, Command: "ctx-menu"})
	}
	for _, c := range []client.Client{terminal, h} {
		if r, err := run(c, schema.HarnessOpenCode, "/p"); err != nil || r.Page == nil {
			t.Errorf("%T: %+v, error %v", c, r, err)
		}
	}
	for _, refused := range []struct {
		c         client.Client
		kind      schema.Harness
		directory string
	}{{terminal, "", "/p"}, {terminal, schema.HarnessPi, "/p"}, {terminal, schema.HarnessOpenCode, "/of/pi"}, {h, schema.HarnessPi, "/of/pi"}} {
		if r, err := run(refused.c, refused.kind, refused.directory); err == nil {
			t.Errorf("%+v is answered: %+v", refused, r)
		}
	}
	h.config.Enabled = false
	if _, err := h.host.Initialize(t.Context(), h, schema.InitializeParams{Harness: schema.HarnessOpenCode, Directory: "/p"}); err != nil {
		t.Fatal(err)
	}
	if r, err := run(terminal, schema.HarnessOpenCode, "/p"); err == nil {
		t.Errorf("switched off, it answers %+v", r)
	}
}
