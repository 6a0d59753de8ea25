package importing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/index"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/plugindb/plugindbtest"
	"github.com/magicctx/magicctx-host/store/storetest"
)

const now = storetest.Now

type machine struct {
	t      *testing.T
	home   string
	plugin *plugindbtest.DB
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir()}
	var all []json.Value
	for i := range 6 {
		role := [...]string{"user", "assistant"}[i%2]
		all = append(all, json.Value(fmt.Sprintf(`{"info":{"id":"m%d","sessionID":"ses_1","role":%q,"finish":"stop","time":{"created":%d}},"parts":[{"id":"p%d","type":"text","text":"look at src/file%d.go"}]}`, i+1, role, i+1, i+1, i+1)))
	}
	rawhistorytest.NewOpenCode(t, m.home).Add("ses_1", all)
	m.plugin = plugindbtest.New(t, filepath.Join(m.home, "plugin"), 36)
	return m
}

func (m *machine) importer(dir string) *Importer {
	return &Importer{
		Dir: filepath.Join(m.home, dir), Clock: clock.NewManual(now),
		Reader:   rawhistory.Reader{Env: func(name string) string { return map[string]string{"HOME": m.home}[name] }},
		Identify: project.Identify,
	}
}

// run runs the import, and checks that every row appears in the report.
func (m *machine) run(i *Importer) string {
	m.t.Helper()
	r, err := i.Run(m.t.Context(), m.plugin.Path)
	if err != nil {
		m.t.Fatal(err)
	}
	var lines []string
	for _, t := range r.Tables {
		all := t.Taken
		line := fmt.Sprintf("%s: %d of %d", t.Name, t.Taken, t.Rows)
		slices.SortFunc(t.Skipped, func(a, b Skip) int { return strings.Compare(a.Reason, b.Reason) })
		for _, s := range t.Skipped {
			all += s.Rows
			line += fmt.Sprintf("; %d %s", s.Rows, s.Reason)
		}
		if lines = append(lines, line); all != t.Rows {
			m.t.Errorf("%s: %d rows, and %d are accounted for", t.Name, t.Rows, all)
		}
	}
	return strings.Join(lines, "\n")
}

func (m *machine) want(i *Importer, want ...string) {
	m.t.Helper()
	got := m.run(i)
	for _, line := range want {
		if !slices.Contains(strings.Split(got, "\n"), line) {
			m.t.Errorf("the report lacks %q:\n%s", line, got)
		}
	}
}

func (m *machine) rows(dir string) []string {
	m.t.Helper()
	s, err := store.Open(m.t.Context(), store.Options{Dir: filepath.Join(m.home, dir), Log: slog.New(slog.DiscardHandler), Clock: clock.NewManual(now)})
	storetest.Must(m.t, err)
	defer s.Close()
	all := storetest.Rows(m.t, s)
	x, err := index.OpenReadOnly(m.t.Context(), filepath.Join(m.home, dir))
	storetest.Must(m.t, err)
	defer x.Close()
	storetest.Must(m.t, x.View(m.t.Context(), func(v *index.View) error {
		return v.Find(`"zebra"`, index.Scope{}, 100, func(h index.Hit) { all = append(all, fmt.Sprint(h.Session, h.Message, h.At, h.Text)) })
	}))
	slices.Sort(all)
	return all
}

// fill writes rows that the import must take. It also writes one row for each reason for which the import must leave
// out a row.
func (m *machine) fill() {
	gone := filepath.Join(m.home, "gone")
	p := m.plugin
	p.Memory("git:1", "CONSTRAINTS", "Pi stores JSONL", "status = 'permanent', seen_count = 7, importance = 90, source_type = 'agent', source_session_id = 'ses_9'")
	p.Memory("git:1", "NAMING", "old name", "superseded_by_memory_id = 1, status = 'archived'")
	p.Memory("git:1", "NAMING", "archived name", "status = 'archived'")
	p.Memory("git:1", "KNOWN_ISSUES", "expired", fmt.Sprintf("expires_at = %d", now-1))
	p.Memory("git:1", "KNOWN_ISSUES", "the build is slow", fmt.Sprintf("expires_at = %d", now+1))
	p.Memory("git:1", "WORKFLOW_RULES", "test first", "importance = NULL, source_type = 'dreamer'")
	p.Memory("git:1", "PROJECT_RULES", " TEST  first", "")
	p.Memory("git:1", "SECRETS", "a category", "")
	p.Memory("git:1", "NAMING", "a status", "status = 'lost'")
	p.Memory("git:1", "NAMING", "", "")
	p.Memory("git:1", "NAMING", strings.Repeat("x", 10_001), "")
	p.Memory("git:1", "NAMING", strings.Repeat("long ", 1_500), "")
	p.Memory("git:1", "NAMING", strings.Repeat("x", 300_000), "")
	p.Memory("git:1", "NAMING", "blob", "content = x'00ff'")
	p.Memory("relative", "NAMING", "no project", "")
	p.Memory(gone, "NAMING", "of a directory", "")
	p.Memory("/renamed", "NAMING", "renamed", "")
	p.Exec(`INSERT INTO v22_identity_rekey_map VALUES ('/renamed', 'git:2', 1)`)

	p.Note("session", "active", "look at tabs", "ses_1", "", "")
	p.Note("session", "active", "of another machine", "ses_9", "", "")
	p.Note("session", "dismissed", "done", "ses_1", "", "")
	p.Note("smart", "ready", "remove it", "", "git:1", "2.0 is out")
	p.Note("smart", "pending", "no condition", "", "git:1", "")
	p.Note("smart", "pending", "no project", "", "", "x")
	p.Note("odd", "active", "odd", "", "", "")

	p.Compartment("ses_1", 0, "m1", "m2", "one", "saw src/file1.go", 0)
	p.Compartment("ses_1", 1, "m3", "m4", "two", "", 1)
	p.Compartment("ses_1", 2, "m6", "m6", "after a gap", "x", 0)
	p.Compartment("ses_9", 0, "m1", "m2", "of another machine", "x", 0)
	p.Compartment("pi_1", 0, "pi-msg-0", "pi-msg-1", "of Pi", "x", 0)

	p.Commit("git:1", strings.Repeat("1", 40), "zebra: fix\n\nbody")
	p.Commit("git:1", strings.Repeat("2", 40), "zebra: more")
	p.Commit("git:2", "main", "zebra: no hash")

	p.Exec(`INSERT INTO workspaces (name, created_at, updated_at, share_categories) VALUES ('w', 1, 1, '["CONSTRAINTS", "NAMING"]'), ('all', 1, 1, 'null'), ('', 1, 1, '[]')`)
	p.Exec(`INSERT INTO workspace_members VALUES (1, 'git:1', 'one', '/one', 1), (1, 'git:2', 'two', '/two', 1), (2, 'git:3', 'three', '/', 1), (2, 'relative', 'r', '/', 1)`)
	p.Exec(`INSERT INTO user_memories (content, promoted_at, created_at, updated_at) VALUES ('likes terse answers', 1, 1, 1)`)
	p.Exec(`INSERT INTO tags (session_id, tag_number) VALUES ('ses_1', 1), ('ses_1', 2)`)
	p.Exec(`CREATE TABLE surprise (x); INSERT INTO surprise VALUES (1)`)
}

func TestEachRowIsAccountedFor(t *testing.T) {
	m := newMachine(t)
	m.fill()
	rawhistorytest.NewPi(t, m.home, "pi_1").Message(json.Value(`{"role":"user","content":"hi","timestamp":1}`))
	before := m.plugin.Sum()
	want := []string{
		"memories: 8 of 17; 2 a value has another type than the plugin writes, or more than 256 KiB; 2 a value is none that the plugin writes; 1 expired; 1 it has no text; 1 its project is not known; 1 its text has more than 10,000 characters; 1 magicctx has the same",
		"notes: 2 of 7; 2 a value is none that the plugin writes; 1 dismissed; 1 its project is not known; 1 its session is not on this machine",
		"compartments: 2 of 5; 1 its messages are not in the session, or do not follow those of the summary before; 1 its session is not on this machine; 1 the plugin names messages of Pi otherwise than magicctx",
		"workspaces: 2 of 3; 1 its name cannot be used",
		"workspace_members: 3 of 4; 1 its project is not known",
		"git_commits: 2 of 3; 1 a value is none that the plugin writes",
		"user_memories: 0 of 1; 1 magicctx makes its own profile of you (dreamer.user_memories); memory add --user adds to it",
		"tags: 0 of 2; 2 only the plugin itself uses such rows",
		"surprise: 0 of 1; 1 this program does not know the table",
	}
	rehearsal := m.importer("data")
	rehearsal.IsRehearsal = true
	m.want(rehearsal, want...)
	if _, err := os.Stat(rehearsal.Dir); err == nil {
		t.Error("a rehearsal has written")
	}
	m.want(m.importer("data"), want...)
	first := m.rows("data")
	m.want(rehearsal, "notes: 0 of 7; 2 a value is none that the plugin writes; 1 dismissed; 1 its project is not known; 1 its session is not on this machine; 2 taken before")
	m.run(m.importer("data"))
	storetest.Same(t, "databases after a second import", m.rows("data"), first)
	if m.plugin.Sum() != before {
		t.Error("the plugin's database has changed")
	}
	gone := project.OfDirectory(filepath.Join(m.home, "gone"))
	storetest.Must(t, memories.View(t.Context(), rehearsal.Dir, func(r *memories.Reader) error {
		all, err := r.All("", true, 0)
		for _, m := range all {
			got := fmt.Sprint(m.Project, " ", m.Category, " ", m.Content, " ", m.Status, " ", m.Permanent, " ", m.Importance, " ", m.Source, " ", m.Harness, "/", m.Session, " ",
				m.Seen, " ", m.CreatedAt, " ", m.UpdatedAt, " ", m.SeenAt, " ", m.ExpiresAt, " ", m.SupersededBy)
			if len(m.Content) > 1_000 {
				continue
			}
			if i := slices.Index(memoriesTaken, strings.ReplaceAll(got, gone, "gone")); i < 0 {
				t.Errorf("stored: %s", got)
			} else {
				memoriesTaken[i] = ""
			}
		}
		notes, err2 := r.AllNotes(true)
		storetest.Same(t, "notes", notes, []chronicle.Note{
			{ID: 2, Project: "git:1", Message: 3, Content: "remove it", Condition: "2.0 is out", Status: chronicle.NoteIsPending, CreatedAt: 21, UpdatedAt: 21},
			{ID: 1, Harness: "opencode", Session: "ses_1", Message: 3, Content: "look at tabs", Status: chronicle.NoteIsActive, CreatedAt: 21, UpdatedAt: 21},
		})
		workspaces, err3 := r.Workspaces()
		storetest.Same(t, "workspaces", workspaces, []memories.Workspace{
			{Name: "all", Members: []memories.Member{{Project: "git:3", Name: "three"}}}, // bug class K15: its policy is not well-formed
			{Name: "w", Shares: []string{"CONSTRAINTS", "NAMING"}, Members: []memories.Member{{Project: "git:1", Name: "one"}, {Project: "git:2", Name: "two"}}},
		})
		return errors.Join(err, err2, err3)
	}))
	if left := strings.Join(memoriesTaken, ""); left != "" {
		t.Errorf("not stored: %s", left)
	}
	storetest.Must(t, store.Browse(t.Context(), rehearsal.Dir, func(b *store.Browser) error {
		rows, err := b.Compartments(store.Key{Harness: "opencode", Session: "ses_1"})
		for i := range rows { // the sizes are measured on the messages
			if rows[i].RawTokens == 0 {
				t.Errorf("compartment %d has no size", i)
			}
			rows[i].RawTokens = 0
		}
		storetest.Same(t, "compartments", rows, []chronicle.Compartment{
			{Seq: 0, Start: 1, End: 2, Keys: []string{"m1", "m2"}, Title: "one", Tiers: [4]string{"saw src/file1.go", "second"}, Importance: 50, MadeBy: "model", Missing: "src/file2.go", Fidelity: 0.5, CreatedAt: 31},
			{Seq: 1, Start: 3, End: 4, Keys: []string{"m3", "m4"}, Title: "two", Tiers: [4]string{"two in one text"}, Importance: 50, MadeBy: "model", Missing: "src/file3.go · src/file4.go", CreatedAt: 31},
		})
		return err
	}))
}

// memoriesTaken lists the memories that the import must store after (*machine).fill has written its rows.
var memoriesTaken = []string{
	"git:1 CONSTRAINTS Pi stores JSONL active true 90 agent opencode/ses_9 7 11 12 13 0 0",
	"git:1 NAMING archived name archived false 50 historian / 1 11 12 13 0 0",
	fmt.Sprint("git:1 CONSTRAINTS the build is slow proposed false 50 historian / 1 11 12 13 ", now+1, " 0"),
	"git:1 PROJECT_RULES test first active false 60 agent / 1 11 12 13 0 0",
	"gone NAMING of a directory active false 50 historian / 1 11 12 13 0 0",
	"git:2 NAMING renamed active false 50 historian / 1 11 12 13 0 0",
	"git:1 NAMING old name superseded false 50 historian / 1 11 12 13 0 1",
}

// The import may be interrupted after any row. A second run must complete it.
func TestInterruptedImportChangesNothingInTheEnd(t *testing.T) {
	m := newMachine(t)
	m.plugin.Memory("git:1", "NAMING", "one", "")
	m.plugin.Memory("git:1", "NAMING", "two", "superseded_by_memory_id = 1, status = 'archived'")
	m.plugin.Memory("git:1", "NAMING", "three", "")
	m.plugin.Note("session", "active", "look at tabs", "ses_1", "", "")
	m.plugin.Note("smart", "ready", "remove it", "", "git:1", "2.0 is out")
	m.plugin.Compartment("ses_1", 0, "m1", "m2", "one", "saw src/file1.go", 0)
	m.plugin.Compartment("ses_1", 1, "m3", "m4", "two", "", 1)
	m.plugin.Commit("git:1", strings.Repeat("1", 40), "zebra: fix\n\nbody")
	m.plugin.Commit("git:2", strings.Repeat("2", 40), "zebra: more")
	batchRows = 2
	defer func() { batchRows = 200 }()
	m.run(m.importer("whole"))
	want := m.rows("whole")
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		i := m.importer(fmt.Sprint("cut", n))
		i.Progress = func(rows, _ int) {
			if rows >= n {
				cancel()
			}
		}
		_, err := i.Run(ctx, m.plugin.Path)
		cancel()
		if err == nil {
			if n != 10 {
				t.Errorf("only %d rows", n)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cut after row %d: %v", n, err)
		}
		m.run(m.importer(fmt.Sprint("cut", n)))
		storetest.Same(t, fmt.Sprint("cut after row ", n), m.rows(fmt.Sprint("cut", n)), want)
	}
}

// After the first import, the user changes or deletes an imported row. A second import must not bring the old row back.
func TestSecondImportLeavesChangesAlone(t *testing.T) {
	m := newMachine(t)
	m.plugin.Memory("git:1", "NAMING", "one", "")
	m.plugin.Memory("git:1", "NAMING", "two", "")
	m.run(m.importer("data"))
	dir := filepath.Join(m.home, "data")
	storetest.Must(t, memories.Edit(t.Context(), dir, now, func(e *memories.Editor) error {
		_, err := e.Update("", 1, func(m *chronicle.Memory) { m.Content = "uno" })
		_, err2 := e.Delete("", 2)
		return errors.Join(err, err2)
	}))
	m.want(m.importer("data"), "memories: 0 of 2; 2 taken before")
	m.plugin.Memory("git:1", "NAMING", "three", "")
	m.want(m.importer("data"), "memories: 1 of 3; 2 taken before")
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		storetest.Must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a directory",
		file("text", strings.Repeat("text ", 1_000)): "not a database",
		file("empty", ""): "no table schema_migrations",
		plugindbtest.New(t, filepath.Join(dir, "a"), 21).Path: "version 21, this program reads 22 to 36; start the newest TypeScript plugin once",
		plugindbtest.New(t, filepath.Join(dir, "b"), 37).Path: "version 37, this program reads 22 to 36; see whether a newer magicctx-host",
	} {
		i := Importer{Dir: filepath.Join(dir, "data"), Clock: clock.NewManual(now)}
		if _, err := i.Run(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Stat(i.Dir); err == nil {
			t.Errorf("%s: something was written", path)
		}
	}
	old := plugindbtest.New(t, filepath.Join(dir, "c"), 22)
	old.Exec(`DROP TABLE workspaces; DROP TABLE git_commits; ALTER TABLE notes DROP COLUMN anchor_ordinal; DROP TABLE compartments`)
	old.Exec(`INSERT INTO notes (type, status, content, project_path, surface_condition, created_at, updated_at) VALUES ('smart', 'pending', 'x', 'git:1', 'y', 1, 1)`)
	old.Exec(`CREATE VIEW compartments AS WITH RECURSIVE n (session_id) AS (SELECT 1 UNION ALL SELECT session_id FROM n) SELECT session_id FROM n`)
	m := &machine{t: t, home: dir, plugin: old}
	m.want(m.importer("data"), "notes: 1 of 1")
}
