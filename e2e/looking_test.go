package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
)

// The session has notes, drops and a head. The harness's own store must be the same as without magicctx, except for
// random names and times.
func TestInvariant17HarnessStoreStaysTheSame(t *testing.T) {
	testLookingChangesNothing(t, schema.HarnessOpenCode)
}

func testLookingChangesNothing(t *testing.T, h schema.Harness) {
	needs(t, h)
	t.Parallel()
	root := suite.Root(t)
	with, without := lookingSession(t, h, root, true), lookingSession(t, h, root, false)
	for i := range max(len(with), len(without)) {
		with, without := lineAt(with, i), lineAt(without, i)
		if with != without {
			at := 0
			for at < min(len(with), len(without)) && with[at] == without[at] {
				at++
			}
			t.Fatalf("line %d of the store of %s differs at byte %d.\nwithout magicctx: %.1000q\nwith it: %.1000q", i+1, h, at, without[max(0, at-200):], with[max(0, at-200):])
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func lookingSession(t *testing.T, h schema.Harness, root string, isManaged bool) []string {
	t.Helper()
	const big = 6 // the number of files with 44 kB, which no read tool shortens
	files := map[string]string{"notes.txt": "the answer is 41\n"}
	for i := range big {
		files[fmt.Sprintf("big%d.txt", i)] = strings.Repeat(fmt.Sprintf("line of file %d in which nothing is of use\n", i), 1_000)
	}
	w := newWorldOf(t, h, root, files)
	w.configure(`{"execute_threshold_percentage": 50, "protected_tags": 2}`)
	options := w.bare()
	if isManaged {
		options = w.withPlugin()
	}
	options.Limits, options.FlatPrices = opencodetest.Limits{Context: 64_000, Output: 8_192}, true
	a := w.launch(options)
	session := w.session(a)

	var steps []mockllm.Step
	reports := func(tokens int, step mockllm.Step) {
		step.Usage = &promptcache.Tokens{Fresh: 100, Read: tokens - 100}
		steps = append(steps, step)
	}
	reports(2_000, w.readNotes("toolu_notes"))
	reports(2_000, mockllm.Say("It is 41."))
	// During the turn, the reported sizes are below the force level, so no pass busts. At its end, they are above the
	// execute threshold, so the next turn begins with a bust.
	for i := range big {
		tool, input := w.tools().Read(filepath.Join(w.project, fmt.Sprintf("big%d.txt", i)), 0, 0)
		reports([]int{20_000, 20_000, 20_000, 30_000, 30_000, 36_000}[i], mockllm.Call(fmt.Sprintf("toolu_big%d", i), tool, input))
	}
	reports(36_000, mockllm.Say("Read."))
	reports(15_000, w.readNotes("toolu_again"))
	reports(15_000, mockllm.Say("Still 41."))
	w.play(session, steps...)
	w.prompt(a, session, promptOf(1))
	w.prompt(a, session, "Read all files.")
	if isManaged {
		(&headKeeper{world: w, agent: a, session: session}).publish(1)
	}
	w.prompt(a, session, "Read the notes again.")
	w.stop(a)
	w.stopHost()
	if isManaged {
		w.checkIsManaged(session)
	}
	lines := w.harnessStore()
	w.destroy(a)
	return lines
}

// checkIsManaged fails unless magicctx has done everything in the session that could change the harness's store.
func (w *world) checkIsManaged(session string) {
	w.t.Helper()
	edits, folds := 0, 0
	for _, p := range w.journal(session) {
		edits += p.EditsAdded
		if p.FoldReason != "" {
			folds++
		}
	}
	if edits == 0 || folds == 0 {
		w.t.Errorf("%d edits, %d folds", edits, folds)
	}
	told := map[string]bool{}
	for _, r := range w.requests(session) {
		for _, text := range notes(r) {
			told[text] = true
		}
	}
	want := 2
	if w.harness == schema.HarnessOpenCode2 {
		want = 1 // the beta's read tool returns JSON, to which magicctx adds no note
	}
	if len(told) < want {
		w.t.Errorf("the model has read %d notes: %q", len(told), slices.Collect(maps.Keys(told)))
	}
}

func (w *world) harnessStore() []string {
	w.t.Helper()
	if w.harness == schema.HarnessPi {
		paths, err := filepath.Glob(filepath.Join(pitest.AgentDir(w.user.Home), "sessions", "*", "*"))
		if err != nil {
			w.t.Fatal(err)
		}
		return w.namedAnew(w.linesOf(paths))
	}
	dir, name := filepath.Join(w.user.Home.Data, "opencode"), "opencode.db"
	if w.harness == schema.HarnessOpenCode2 {
		name = "opencode-local.db"
	}
	paths, err := filepath.Glob(filepath.Join(dir, "storage", "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return w.namedAnew(append(w.rowsOf(filepath.Join(dir, name)), w.linesOf(paths)...))
}

func (w *world) linesOf(paths []string) (lines []string) {
	w.t.Helper()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			lines = append(lines, filepath.Base(path)+": "+line)
		}
	}
	return lines
}

func (w *world) rowsOf(path string) (lines []string) {
	w.t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	each := func(query string, f func(row *sqlite3.Stmt)) {
		s, _, err := c.Prepare(query)
		if err != nil {
			w.t.Fatal(err)
		}
		defer s.Close()
		for s.Step() {
			f(s)
		}
		if err := s.Err(); err != nil {
			w.t.Fatal(err)
		}
	}
	var tables []string
	each(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`, func(row *sqlite3.Stmt) { tables = append(tables, row.ColumnText(0)) })
	for _, table := range tables {
		query := `SELECT * FROM "` + table + `" ORDER BY 1`
		switch table { // OpenCode logs changes of a session in varying numbers
		case "event":
			query = `SELECT id, aggregate_id, type, data FROM event WHERE type NOT LIKE 'session.updated%' ORDER BY id`
		case "event_sequence":
			query = `SELECT aggregate_id FROM event_sequence ORDER BY 1`
		case "instruction_blob": // the hash of a text with an id is random, too
			query = `SELECT * FROM instruction_blob ORDER BY length(value)`
		}
		each(query, func(row *sqlite3.Stmt) {
			line := table + ":"
			for i := range row.ColumnCount() {
				line += fmt.Sprintf(" %s=%s", row.ColumnName(i), row.ColumnText(i))
			}
			lines = append(lines, line)
		})
	}
	return lines
}

var (
	// randomName matches ids of OpenCode and Pi, OpenCode's random session names, and hashes that depend on an id.
	randomName = regexp.MustCompile(`\b[a-z]{3}_[0-9a-f]{12}[0-9A-Za-z]{14}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|"[0-9a-f]{8}"|\b[0-9a-f]{64}\b|"slug":"[a-z-]+"| slug=[a-z-]+`)
	aTime      = regexp.MustCompile(`\b1[6-9]\d{11}\b|\b20\d\d-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z`)
)

// namedAnew makes the stores of two runs comparable. It replaces random names with numbers, in the order in which they
// appear, and replaces times and the test's path with placeholders. It removes the host's tools from the list of tools
// that Pi stores.
func (w *world) namedAnew(lines []string) []string {
	numbers := map[string]string{}
	for i, line := range lines {
		if before, _, found := strings.Cut(line, `,{"name":"ctx_`); found && strings.Contains(line, `"role":"system"`) {
			line = before + "]}}\n"
		}
		line = strings.ReplaceAll(line, filepath.Dir(w.project), "<dir>")
		line = aTime.ReplaceAllLiteralString(line, "<time>")
		lines[i] = randomName.ReplaceAllStringFunc(line, func(name string) string {
			if numbers[name] == "" {
				numbers[name] = fmt.Sprintf("<%d>", len(numbers)+1)
			}
			return numbers[name]
		})
	}
	return lines
}
