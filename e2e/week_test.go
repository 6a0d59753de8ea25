package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

const (
	zebraHelpers = "Zebra helpers go into src/zebra.go."
	zebraAgain   = "Put all zebra helpers into src/zebra.go."
	zebraPack    = "The script tools/zebra.sh packs the release."
	zebraStory   = "We discussed the zebra today, and we agreed that its retries go into conf/zebra.toml and that there are 3 of them."

	zebraMerged = "All zebra helpers go into src/zebra.go."
	zebraMoved  = "All zebra helpers go into lib/zebra.go."
	zebraFact   = "The zebra retries go into conf/zebra.toml; there are 3."
)

// weekQuestions counts the dreamer's questions in a week without interruptions.
const weekQuestions = 4

var weekNotes = strings.Repeat("A line of the notes about nothing in particular.\n", 200)

// A week is the story of a user who has five sessions in two projects. A dreamer runs after two of the sessions. The
// scripted provider can kill the host during one of the dreamer's questions.
type week struct {
	*world
	player
	another string
	day     int
	asked   int
	killAt  int // the question during which the host is killed; 0 means none
	// isRough means that the host is killed at arbitrary moments. Then nobody knows how many questions the dreamer asks
	// again, so the test does not check their number.
	isRough bool
}

type player interface {
	// The method `visit` ends the previous session and begins a new one, in which the model calls ctx_memory once with
	// each element of `calls`. It returns the first request of the new session.
	visit(project string, calls ...map[string]any) (first string)
	// The method `dream` runs /ctx-dream and waits for its end. If the host is killed, it runs the command again.
	dream()
	leave()
	kill()
	// prompts returns the cost of the prompts, in $.
	prompts() float64
}

func newWeek(t *testing.T, h schema.Harness, killAt int, settings string, play func(*week) player) *week {
	w := &week{killAt: killAt, world: newWorldOf(t, h, suite.Root(t), map[string]string{
		"src/zebra.go": "package zebra\n", "tools/zebra.sh": "tar c src\n", "conf/zebra.toml": "retries = 3\n", "notes.txt": weekNotes,
	})}
	w.configure(settings)
	w.another = w.addProject("another", map[string]string{"notes.txt": weekNotes + "Another project.\n"})
	w.player = play(w)
	return w
}

// The method `clock` returns the path of a file that tells the host by how many ms its clock must differ from the
// machine's clock.
func (w *week) clock() string { return filepath.Join(w.root, "clock") }

func (w *week) begin(day int) {
	w.t.Helper()
	shift := strconv.FormatInt((time.Duration(day) * 24 * time.Hour).Milliseconds(), 10)
	next := w.clock() + ".next" // a rename, so that the host never reads a half-written number
	if err := os.WriteFile(next, []byte(shift), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(next, w.clock()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *week) live() {
	w.t.Helper()
	var writes []map[string]any
	for category, contents := range map[string][]string{"NAMING": {zebraHelpers, zebraAgain}, "ARCHITECTURE": {zebraPack, zebraStory}} {
		for _, content := range contents {
			writes = append(writes, map[string]any{"action": "write", "category": category, "content": content})
		}
	}
	slices.SortFunc(writes, func(a, b map[string]any) int { return cmp.Compare(a["content"].(string), b["content"].(string)) })
	w.begin(0)
	w.wants("On Monday, the project", w.visit(w.project, writes...), zebraHelpers, zebraAgain, zebraPack, zebraStory)
	w.dream()
	w.begin(1)
	w.wants("On Tuesday, the other project", w.visit(w.another), "zebra")
	w.begin(2)
	w.wants("On Wednesday, the project", w.visit(w.project), zebraHelpers, zebraAgain, zebraStory, "+", zebraMerged, zebraFact, zebraPack)
	if err := os.Mkdir(filepath.Join(w.project, "lib"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	w.run(w.project, "git", "mv", "src/zebra.go", "lib/zebra.go")
	w.run(w.project, "git", "rm", "-q", "tools/zebra.sh")
	w.dream()
	w.begin(4)
	w.wants("On Friday, the project", w.visit(w.project), zebraMerged, zebraPack, "+", zebraMoved, zebraFact)
	w.begin(6)
	w.wants("On Sunday, the other project", w.visit(w.another), "zebra")
	w.leave()
}

// The method `wants` checks the texts in a request. The texts before "+" must be missing, and the texts after "+" must
// be present.
func (w *week) wants(when, request string, texts ...string) {
	w.t.Helper()
	want := false
	for _, text := range texts {
		if text == "+" {
			want = true
		} else if got := strings.Contains(request, text); got != want {
			w.t.Errorf("%s sees %q: %t, want %t, in %s", when, text, got, want, tail(request, 4_000))
		}
	}
}

// If isKilled is true, the host is gone.
func (w *week) answer(system, prompt string) (text string, isKilled bool) {
	if w.asked++; w.asked == w.killAt {
		w.kill()
		return "", true
	}
	id := func(content string) string {
		found := regexp.MustCompile(`<note id="(\d+)"[^>]*>` + regexp.QuoteMeta(html.EscapeString(content)) + `</note>`).FindStringSubmatch(prompt)
		if found == nil {
			return ""
		}
		return found[1]
	}
	for _, of := range []struct{ task, form, first, second string }{
		{"say the same", `<merge ids="%s,%s">` + zebraMerged + `</merge>`, zebraHelpers, zebraAgain},
		{"each has a finding", `<update ids="%s">` + zebraMoved + `</update><archive ids="%s">The script was removed.</archive>`, zebraMerged, zebraPack},
		{"tell what happened", `<update ids="%s">` + zebraFact + `</update>%s`, zebraStory, ""},
	} {
		if first := id(of.first); strings.Contains(system, of.task) && first != "" {
			return fmt.Sprintf(of.form, first, id(of.second)), false
		}
	}
	return "<none/>", false
}

// The method `left` returns all memories at the end, with their categories and statuses.
func (w *week) left() (all []string) {
	w.t.Helper()
	var exported struct {
		Memories []struct{ Category, Content, Status string }
	}
	out := w.hostSays("memory", "export")
	if err := json.Unmarshal([]byte(out), &exported); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	for _, m := range exported.Memories {
		all = append(all, m.Status+" "+m.Category+": "+m.Content)
	}
	slices.Sort(all)
	return all
}

func (w *week) wantEnd() {
	w.t.Helper()
	want := []string{
		"active ARCHITECTURE: " + zebraFact, "active NAMING: " + zebraMoved, "archived ARCHITECTURE: " + zebraPack,
		"superseded ARCHITECTURE: " + zebraStory, "superseded NAMING: " + zebraMerged, "superseded NAMING: " + zebraAgain, "superseded NAMING: " + zebraHelpers,
	}
	slices.Sort(want)
	if got := w.left(); !slices.Equal(got, want) {
		w.t.Errorf("the week has left %q, want %q", got, want)
	}
	questions := weekQuestions
	if w.killAt > 0 {
		questions++ // the question is asked again
	}
	money, calls, changes := 0.0, 0, 0
	for _, row := range w.spent().Rows {
		if money, calls, changes = money+row.Money, calls+row.Calls, changes+row.Changes; row.Agent != "dreamer" {
			w.t.Errorf("%s has asked, too", row.Agent)
		}
	}
	if !w.isRough && (calls != questions || w.asked != questions) || changes != 4 {
		w.t.Errorf("%d calls are booked, and %d questions were asked, want %d; they made %d changes", calls, w.asked, questions, changes)
	}
	if prompts := w.prompts(); money <= 0 || money > prompts/20 {
		w.t.Errorf("the dreamer has cost $%.4f, and the prompts $%.4f", money, prompts)
	}
	if out := w.hostSays("memory", "list", "--run", "1", "--project", w.project); !strings.Contains(out, zebraHelpers) || !strings.Contains(out, "became ") || !strings.Contains(out, zebraMerged) {
		w.t.Errorf("what the first run has changed: %s", out)
	}
	w.hostSays("memory", "restore", "--run", "2", "--project", w.project)
	w.hostSays("memory", "restore", "--run", "1", "--project", w.project)
	for _, content := range []string{zebraHelpers, zebraAgain, zebraPack, zebraStory} {
		if !slices.ContainsFunc(w.left(), func(m string) bool { return strings.HasPrefix(m, "active") && strings.HasSuffix(m, content) }) {
			w.t.Errorf("after an undo of both runs, %q is missing: %q", content, w.left())
		}
	}
}

// testWeek plays the week twice. The second time, it kills the host during a random question of the dreamer. The week
// must end with the same result both times. In a third run, the budget is $0, so the dreamer must ask nothing.
func testWeek(t *testing.T, h schema.Harness, play func(*week) player) {
	for _, killAt := range []int{0, 1 + rand.New(rand.NewPCG(*killSeed, 1)).IntN(weekQuestions)} {
		t.Run(fmt.Sprint("killed during question ", killAt), func(t *testing.T) {
			needs(t, h)
			t.Parallel()
			w := newWeek(t, h, killAt, `{"dreamer": {}}`, play)
			w.live()
			w.wantEnd()
		})
	}
	t.Run("without a budget", func(t *testing.T) {
		needs(t, h)
		t.Parallel()
		w := newWeek(t, h, 0, `{"dreamer": {}, "budget": {"money": 0}}`, play)
		w.begin(0)
		w.visit(w.project, map[string]any{"action": "write", "category": "NAMING", "content": zebraHelpers}, map[string]any{"action": "write", "category": "NAMING", "content": zebraAgain})
		w.dream()
		w.begin(2)
		w.wants("Without a budget, the project", w.visit(w.project), "+", zebraHelpers, zebraAgain)
		w.leave()
		if s := w.spent(); w.asked != 0 || len(s.Rows) != 0 || w.prompts() == 0 {
			t.Errorf("asked %d times: %+v", w.asked, s)
		}
	})
}
