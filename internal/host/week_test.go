package host

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/memories"
)

var weeks = flag.Int("weeks", 2, "the number of random weeks of the hidden agents; each takes half a second")

type week struct {
	*harness
	random *rand.Rand
	price  schema.Price
	// `billed` (in $) and `tokens` say what the provider has charged. The keys name agents and a day, for example
	// "historian2026-11-30".
	billed map[string]float64
	tokens map[string]int
	asked  int
	undone int
	// isKilled means that the host was killed during a question.
	isKilled bool
	kills    int
}

// The test plays random weeks, and sometimes kills the host. No budget may be exceeded by even one token, no
// memory may be lost, and it must be possible to undo each run.
func TestRandomWeeks(t *testing.T) {
	asked, undone, kills := 0, 0, 0
	for seed := range *weeks {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			w := newWeek(t, uint64(seed))
			for day := range 7 {
				w.live(day)
			}
			asked, undone, kills = asked+w.asked, undone+w.undone, kills+w.kills
		})
	}
	if *weeks > 9 && (asked == 0 || undone == 0 || kills == 0) {
		t.Errorf("%d questions, %d runs undone, %d kills: the weeks test nothing", asked, undone, kills)
	}
	t.Logf("%d questions, %d runs undone, %d kills", asked, undone, kills)
}

func newWeek(t *testing.T, seed uint64) *week {
	w := &week{random: rand.New(rand.NewPCG(seed, 0)), billed: map[string]float64{}, tokens: map[string]int{}}
	w.harness = answering(t, nil)
	w.runAgent = func(_ context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) { return w.run(p), nil }
	dollars := func() float64 { return 0.1 + 10*w.random.Float64() }
	w.price = schema.Price{Fresh: dollars(), Write: dollars(), Read: dollars(), Output: dollars()}
	w.limits.Price = w.price
	w.config.Historian.Model, w.config.Dreamer.Model = "p/m", "p/m"
	w.config.Dreamer.Disable = false
	w.config.Memory.InjectionBudgetTokens = 500
	for _, b := range []*schema.OthersBudget{(*schema.OthersBudget)(&w.config.Budget.Historian), &w.config.Budget.Others} {
		b.Percent, b.AtLeast = 0, []float64{0, 0.2, 1, 5}[w.random.IntN(4)]
		b.Tokens = []int{20_000, 200_000, 1_000_000}[w.random.IntN(3)]
	}
	w.project = t.TempDir()
	must(t, os.MkdirAll(filepath.Join(w.project, "lib"), 0o700))
	must(t, os.WriteFile(filepath.Join(w.project, "lib", "x.go"), nil, 0o600))
	w.revive()
	return w
}

func (w *week) revive() {
	w.t.Helper()
	w.restart()
	if _, err := w.host.Initialize(w.ctx, w, schema.InitializeParams{Harness: w.kind, Directory: w.project}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *week) live(day int) {
	w.clock.Advance(24 * time.Hour)
	w.talk(100*day, 3, 900, 45_000)
	w.user(fmt.Sprint("day", day), "go on")
	w.pass()
	w.settle()
	for i := range 4 {
		category := chronicle.Categories[w.random.IntN(len(chronicle.Categories))]
		w.edits(func(e *memories.Editor) error {
			source := []chronicle.Source{chronicle.FromHistorian, chronicle.FromUser}[w.random.IntN(2)]
			_, _, err := e.Write(chronicle.Memory{Project: w.row().Project, Directory: "/p", Category: category, Content: fmt.Sprintf("%she thing %c is about src/x.go and has some more words.", []string{"T", "We agreed that t"}[w.random.IntN(2)], 'a'+rune(4*day+i)), Source: source})
			return err
		})
	}
	for range w.random.IntN(3) {
		w.clock.Advance(time.Hour)
		before := w.stored(false)
		w.dreamToTheEnd()
		w.check()
		told := regexp.MustCompile(`--run (\d+)`).FindStringSubmatch(w.shown[len(w.shown)-1])
		if told == nil || w.random.IntN(2) == 0 {
			continue
		}
		w.undone++
		run, _ := strconv.Atoi(told[1])
		w.edits(func(e *memories.Editor) error {
			_, err := e.Undo(w.row().Project, run)
			return err
		})
		if after := w.stored(false); !slices.EqualFunc(before, after, func(a, b chronicle.Memory) bool { return a.ID == b.ID && a.Content == b.Content }) {
			w.t.Fatalf("run %d was undone: %+v, want %+v", run, after, before)
		}
	}
}

func (w *week) dreamToTheEnd() {
	for told := w.shown; ; {
		w.dream("")
		if w.isKilled {
			w.isKilled, w.shown = false, told // nobody gets the notices of a killed host
			w.revive()
			continue
		}
		state, err := w.store.Runs.State(w.ctx, memories.DreamerOf(w.row().Project))
		if err != nil {
			w.t.Fatal(err)
		}
		if state.Unfinished == "" {
			return
		}
	}
}

// If all is true, stored also returns inactive memories.
func (w *week) stored(all bool) (found []chronicle.Memory) {
	w.edits(func(e *memories.Editor) (err error) {
		found, err = e.Reader().All(w.row().Project, all, 0)
		return err
	})
	return found
}

// Each memory must be active, superseded by another memory, or archived with a reason. Each guarded memory must be
// active, and no budget may be exceeded.
func (w *week) check() {
	all := w.stored(true)
	for _, m := range all {
		isKnown := slices.ContainsFunc(all, func(by chronicle.Memory) bool { return by.ID == m.SupersededBy })
		var log []chronicle.MemoryChange
		w.edits(func(e *memories.Editor) (err error) {
			log, err = e.Reader().Log(m.ID)
			return err
		})
		isArchived := m.Status == chronicle.MemoryIsArchived && log[len(log)-1].Content != ""
		isSuperseded := m.Status == chronicle.MemoryIsSuperseded && isKnown
		if m.Status != chronicle.MemoryIsActive && (!isArchived && !isSuperseded || m.Category == "CONSTRAINTS" || isArchived && m.Source == chronicle.FromUser) {
			w.t.Fatalf("%+v is lost: %+v", m, log)
		}
	}
	for key, billed := range w.billed {
		b := w.config.Budget.Others
		if strings.HasPrefix(key, "historian") {
			b = schema.OthersBudget(w.config.Budget.Historian)
		}
		if billed > b.AtLeast+1e-9 || w.tokens[key] > b.Tokens {
			w.t.Fatalf("%s has cost $%f of $%f, and %d tokens of %d", key, billed, b.AtLeast, w.tokens[key], b.Tokens)
		}
	}
}

var noteID = regexp.MustCompile(`<note id="(\d+)"[^>]*>([^<]*)</note>`)

func (w *week) run(p schema.AgentRunParams) schema.AgentRunResult {
	w.asked++
	agents := "others"
	if p.Agent != "magicctx-dreamer" {
		agents = "historian"
	}
	size := tokens.Count(p.System) + tokens.Count(p.Prompt)
	input, output := size*(1+w.random.IntN(2))+w.random.IntN(4_001), w.random.IntN(p.MaxOutput+1)
	day := agents + time.UnixMilli(w.clock.Now()).Format(time.DateOnly)
	w.billed[day] += (float64(input)*w.price.Write + float64(output)*w.price.Output) / 1e6
	w.tokens[day] += input + output
	if agents == "others" && w.random.IntN(12) == 0 {
		w.isKilled = true
		w.kills++
		w.store.Close()
	}
	text := w.answer(p)
	answers := []json.Value{json.Value(fmt.Sprintf(
		`{"info":{"id":"x","role":"assistant","providerID":"p","modelID":"m","finish":"stop","tokens":{"input":0,"output":%d,"cache":{"read":0,"write":%d}}},"parts":[{"type":"text","text":%s}]}`, output, input, json.Quote(text)))}
	switch w.random.IntN(12) {
	case 0:
		return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "aborted", Error: json.Quote("cut off")}}
	case 1:
		return schema.AgentRunResult{Answers: answers, Failure: schema.AgentFailure{Reason: "error", Error: json.Quote("403 no credit")}}
	}
	return schema.AgentRunResult{Answers: answers}
}

func (w *week) answer(p schema.AgentRunParams) string {
	if p.Agent != "magicctx-dreamer" {
		text, _ := good(p)
		return text[:len(text)-w.random.IntN(2)*20] // whole, or cut
	}
	notes := noteID.FindAllStringSubmatch(p.Prompt, -1)
	var b strings.Builder
	for range 1 + w.random.IntN(4) {
		i := w.random.IntN(len(notes))
		one, other := notes[i], notes[(i+1+w.random.IntN(2))%len(notes)]
		switch w.random.IntN(8) {
		case 0:
			fmt.Fprintf(&b, `<merge ids="%s,%s">%s</merge>`, one[1], other[1], strings.TrimSuffix(one[2], ".")+" "+other[2])
		case 1:
			fmt.Fprintf(&b, `<merge ids="%s,%s">Things are %s</merge>`, one[1], other[1], "about src/x.go")
		case 2:
			fmt.Fprintf(&b, `<update ids="%s">%s</update>`, one[1], strings.Replace(one[2], "src", []string{"lib", "etc"}[w.random.IntN(2)], 1))
		case 3:
			fmt.Fprintf(&b, `<archive ids="%s">volatile: it has passed.</archive>`, one[1])
		case 4:
			fmt.Fprintf(&b, `<archive ids="%d"></archive>`, w.random.IntN(40))
		case 5:
			b.WriteString("<none/>")
		case 6:
			fmt.Fprintf(&b, `<update ids="%s">%s</update>`, one[1], strings.TrimPrefix(one[2], "We agreed that t"))
		case 7:
			first, _, _ := strings.Cut(one[2], " and ")
			fmt.Fprintf(&b, `<split ids="%s"><fact>%s.</fact><fact>%s</fact></split>`, one[1], first, strings.Replace(one[2], "is about src/x.go and ", "", 1))
		}
	}
	return b.String()
}
