package search_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/indexing"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/internal/search"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

var (
	update = flag.Bool("update", false, "write the golden file of the judged set")
	tuning = flag.Bool("tuning", false, "leave out the held-out queries of the judged set, and print each other query that is not perfect")
)

// The judged set has sessions of five projects, and queries. Each query lists the messages that answer it, with a grade
// from 1 (helps) to 3 (answers). The ranking is tuned with the queries in tuning.queries and more.queries. The queries
// in heldout.queries only measure it, so do not look at them. For tuning, run the test with -args -tuning.
const judgedDir = "testdata/judged"

var judgedNow = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func place(session string, ordinal int, text string) string {
	if ordinal == 0 {
		session, _, _ = strings.Cut(text, "\n")
	}
	return fmt.Sprintf("%s %d", session, ordinal)
}

type set struct {
	t      *testing.T
	home   string
	index  *index.Index
	oc     *rawhistorytest.OpenCode
	labels map[string]string
	// history has the commits of each project, by the project's name, as input of git fast-import.
	history map[string]*strings.Builder
	random  *rand.Rand
	filler  map[string][]string
}

func TestJudgedSet(t *testing.T) {
	s := newSet(t)
	var report, details strings.Builder
	fmt.Fprintf(&report, "%-16s %8s %8s %10s %6s\n", "", "queries", "nDCG@10", "recall@10", "MRR")
	for _, half := range [...]string{"tuning", "more", "heldout"} {
		if *tuning && half == "heldout" {
			continue
		}
		var all, words, paraphrases scores
		for _, q := range s.queries(half) {
			one, ranks := s.judge(q)
			all.add(one)
			if q.isParaphrase {
				paraphrases.add(one)
			} else {
				words.add(one)
			}
			if line := fmt.Sprintf("%s %-8s %.2f  %s: %s\n", half, q.project, one.ndcg, q.text, ranks); !*tuning {
				details.WriteString(line)
			} else if one.ndcg < 0.95 {
				t.Log(line)
			}
		}
		for _, row := range []struct {
			name string
			scores
		}{{half, all}, {half + " words", words}, {half + " paraphr.", paraphrases}} {
			if row.n == 0 {
				continue
			}
			n := float64(row.n)
			fmt.Fprintf(&report, "%-16s %8d %8.3f %10.3f %6.3f\n", row.name, row.n, row.ndcg/n, row.recall/n, row.mrr/n)
		}
	}
	t.Logf("\n%s", &report)
	if !*tuning {
		compare(t, report.String()+"\n"+details.String())
	}
}

// compare compares the report with the golden file. It prints changed ranks, so that a person can review them. It fails
// only if the scores of a query file have become lower.
func compare(t *testing.T, report string) {
	path := filepath.Join(judgedDir, "golden.txt")
	if *update {
		must(t, os.WriteFile(path, []byte(report), 0o600))
		return
	}
	golden, err := os.ReadFile(path)
	must(t, err)
	old, now := strings.Split(string(golden), "\n"), strings.Split(report, "\n")
	for i, line := range now {
		if i >= len(old) || line == old[i] {
			continue
		}
		t.Logf("was %s\nnow %s", old[i], line)
		was, is := strings.Fields(old[i]), strings.Fields(line)
		if i > 0 && i < 10 && len(was) == len(is) && slices.ContainsFunc([]int{1, 2, 3}, func(back int) bool {
			return number(is[len(is)-back]) < number(was[len(was)-back])-0.002
		}) {
			t.Errorf("a figure fell; run the test with -args -update if it is meant")
		}
	}
}

func number(s string) float64 {
	n, _ := strconv.ParseFloat(s, 64)
	return n
}

// scores are the sums of three measures over n queries. ndcg is nDCG@10 over all grades. recall is the share of the
// messages with grade 2 or 3 that are among the first ten hits. mrr is 1 divided by the rank of the first of these
// messages.
type scores struct {
	n                 int
	ndcg, recall, mrr float64
}

func (s *scores) add(o scores) {
	s.n += o.n
	s.ndcg += o.ndcg
	s.recall += o.recall
	s.mrr += o.mrr
}

type judgedQuery struct {
	project, text string
	isParaphrase  bool
	grades        map[string]int
}

// A line of a query file is "PROJECT KIND | QUERY | GRADES". KIND is "w" if the query uses words of the session, and
// "p" if it is a paraphrase. GRADES lists the messages that answer the query, for example "port=3 deploy=1".
func (s *set) queries(half string) (all []judgedQuery) {
	for _, line := range lines(s.t, half+".queries") {
		if line == "" {
			continue
		}
		fields := strings.Split(line, " | ")
		if len(fields) != 3 {
			s.t.Fatalf("%q", line)
		}
		project, kind, _ := strings.Cut(fields[0], " ")
		q := judgedQuery{project: project, isParaphrase: kind == "p", text: fields[1], grades: map[string]int{}}
		for _, grade := range strings.Fields(fields[2]) {
			label, n, _ := strings.Cut(grade, "=")
			q.grades[label] = int(number(n))
		}
		all = append(all, q)
	}
	return all
}

// judge searches as ctx_search does, and returns the scores and the rank of each graded message. A message
// counts once, at its first hit.
func (s *set) judge(q judgedQuery) (scores, string) {
	hits, err := search.Search(s.t.Context(), s.index, search.Query{Text: q.text, Limit: 10, Project: "git:" + q.project, Now: judgedNow.UnixMilli()})
	if err != nil && !errors.Is(err, search.ErrNoWords) {
		s.t.Fatal(err)
	}
	out, rank := scores{n: 1}, map[string]int{}
	gain := func(grade int) float64 { return float64(int(1)<<grade - 1) }
	dcg, best := 0.0, 0.0
	for i, h := range hits {
		label := s.labels[place(h.Session.ID, h.Last, h.Text)]
		if grade := q.grades[label]; grade > 0 && rank[label] == 0 {
			rank[label] = i + 1
			dcg += gain(grade) / math.Log2(float64(i)+2)
			if grade >= 2 && out.mrr == 0 {
				out.mrr = 1 / float64(i+1)
			}
		}
	}
	var grades []int
	var ranks []string
	relevant := 0.0
	for _, label := range slices.SortedFunc(keys(q.grades), func(a, b string) int { return cmp.Or(q.grades[b]-q.grades[a], cmp.Compare(a, b)) }) {
		grades = append(grades, q.grades[label])
		if q.grades[label] >= 2 {
			relevant++
			if rank[label] > 0 {
				out.recall++
			}
		}
		at := "-"
		if rank[label] > 0 {
			at = strconv.Itoa(rank[label])
		}
		ranks = append(ranks, fmt.Sprintf("%s(%d)@%s", label, q.grades[label], at))
	}
	for i, grade := range grades {
		best += gain(grade) / math.Log2(float64(i)+2)
	}
	out.recall /= relevant
	out.ndcg = dcg / best
	return out, strings.Join(ranks, " ")
}

func keys(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(judgedDir, name))
	must(t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// newSet writes the sessions into the stores of both harnesses, among generated sessions of the same projects,
// and indexes them.
func newSet(t *testing.T) *set {
	home := t.TempDir()
	s := &set{t: t, home: home, oc: rawhistorytest.NewOpenCode(t, home), labels: map[string]string{}, history: map[string]*strings.Builder{}, random: rand.New(rand.NewPCG(28, 28)), filler: map[string][]string{}}
	for _, line := range lines(t, "filler.words") {
		name, words, _ := strings.Cut(line, ": ")
		s.filler[name] = strings.Split(words, " ")
		if strings.Contains(words, "|") {
			s.filler[name] = strings.Split(words, "|")
		}
	}
	var err error
	s.index, err = index.Open(t.Context(), filepath.Join(home, "data"))
	must(t, err)
	t.Cleanup(func() { must(t, s.index.Close()) })
	for _, project := range [...]string{"ledger", "tidepool", "scribe", "hexfall", "homelab"} {
		s.sessions(project)
		for i := range 10 {
			s.generated(project, i)
		}
		s.gitRepository(project)
	}
	x := indexing.Indexer{
		Index: s.index, Identify: func(_ context.Context, dir string) (string, error) { return "git:" + filepath.Base(dir), nil },
		Reader:     rawhistory.Reader{Env: func(name string) string { return map[string]string{"HOME": home}[name] }},
		LoadConfig: func(schema.Harness, string) schema.Config { return config.Default() },
	}
	_, err = x.Run(t.Context(), func(indexing.Progress) {}, func(what string, err error) { t.Error(what, err) })
	must(t, err)
	return s
}

// An entry is a text of the user ("u") or the agent ("a"), or a command with its status and output ("run"). It
// may also be a file that is read or edited.
type entry struct {
	kind, label, text string
	status            int
}

type conversation struct {
	harness, id, project string
	start                time.Time
	entries              []entry
}

// A line that begins with @ begins an entry, for example "@run 1 #label: go test". The lines after it belong to
// the entry.
func (s *set) sessions(project string) {
	var c *conversation
	for _, line := range lines(s.t, project+".txt") {
		switch head, text, ok := strings.Cut(line, ":"); {
		case strings.HasPrefix(line, "@session "):
			s.store(c)
			f := strings.Fields(line)
			start, err := time.Parse(time.DateOnly, f[3])
			must(s.t, err)
			c = &conversation{harness: f[1], id: f[2], project: project, start: start.Add(9 * time.Hour)}
		case ok && strings.HasPrefix(line, "@"):
			e := entry{text: strings.TrimSpace(text)}
			for i, f := range strings.Fields(head) {
				switch {
				case i == 0:
					e.kind = f[1:]
				case f[0] == '#':
					e.label = f[1:]
				default:
					e.status = int(number(f))
				}
			}
			c.entries = append(c.entries, e)
		case line != "":
			c.entries[len(c.entries)-1].text += "\n" + line
		}
	}
	s.store(c)
}

func (s *set) generated(project string, number int) {
	pick := func(name string) string { all := s.filler[name]; return all[s.random.IntN(len(all))] }
	fill := func(text string) string {
		return strings.NewReplacer("{n}", pick(project), "{m}", pick(project), "{f}", pick("files"), "{v}", pick("verbs")).Replace(text)
	}
	harness := [...]string{"opencode", "pi"}[number%2]
	c := &conversation{harness: harness, id: fmt.Sprintf("%s-gen-%d", project, number), project: project, start: judgedNow.AddDate(0, 0, -7*number-s.random.IntN(60))}
	for range 80 {
		var e entry
		switch s.random.IntN(8) {
		case 0, 1:
			e = entry{kind: "u", text: fill(pick("prompts"))}
		case 2, 3, 4:
			e = entry{kind: "a", text: fill(pick("answers")) + " " + fill(pick("answers"))}
		case 5:
			e = entry{kind: [...]string{"read", "edit"}[s.random.IntN(2)], text: "src/" + pick(project) + "/" + pick("files")}
		case 6:
			e = entry{kind: "run", text: pick("commands") + "\nok"}
		default:
			e = entry{kind: "run", status: 1, text: pick("commands") + "\n" + fill(pick("errors"))}
		}
		c.entries = append(c.entries, e)
	}
	for range 5 {
		c.entries = append(c.entries, entry{kind: "commit", text: fill("{n}: {v} the {m}\n") + fill(pick("answers"))})
	}
	s.store(c)
}

func (s *set) store(c *conversation) {
	if c == nil {
		return
	}
	directory := filepath.Join(s.home, c.project)
	var messages []json.Value
	var pi *rawhistorytest.Pi
	if c.harness == "pi" {
		pi = rawhistorytest.NewPi(s.t, s.home, c.id)
		header, err := os.ReadFile(pi.Path)
		must(s.t, err)
		must(s.t, os.WriteFile(pi.Path, []byte(strings.Replace(string(header), `"cwd":"/p"`, `"cwd":`+quote(directory), 1)), 0o600))
	}
	ordinal := 0
	for i := range c.entries {
		e, at := &c.entries[i], c.start.Add(time.Duration(i)*time.Minute).UnixMilli()
		if e.kind == "commit" {
			s.commit(c, e.text, at)
			s.labels[place("", 0, e.text)] = e.label
			continue
		}
		ordinal++
		if e.label != "" {
			s.labels[place(c.id, ordinal, "")] = e.label
		}
		id := fmt.Sprintf("%s_%03d", c.id, ordinal)
		if pi != nil {
			for _, m := range piMessages(e, id, at) {
				pi.Message(m)
			}
			continue
		}
		messages = append(messages, openCodeMessage(e, id, at))
	}
	if pi == nil {
		s.oc.Add(c.id, messages)
		s.oc.Exec(fmt.Sprintf(`UPDATE session SET directory = '%s' WHERE id = '%s'`, directory, c.id))
	}
}

func (s *set) commit(c *conversation, message string, at int64) {
	subject, body, _ := strings.Cut(message, "\n")
	message = subject + "\n\n" + body
	if s.history[c.project] == nil {
		s.history[c.project] = &strings.Builder{}
	}
	fmt.Fprintf(s.history[c.project], "commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata %d\n%s\n", at/1000, len(message), message)
}

func (s *set) gitRepository(project string) {
	dir := filepath.Join(s.home, project)
	for _, args := range [...][]string{{"init", "-q", "-b", "main", dir}, {"-C", dir, "fast-import", "--quiet"}} {
		cmd := exec.CommandContext(s.t.Context(), "git", args...)
		cmd.Stdin = strings.NewReader(s.history[project].String())
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}

func quote(s string) string { return string(json.Quote(s)) }

func (e *entry) toolCall(pathKey string) (tool, input, output string) {
	if e.kind == "run" {
		command, output, _ := strings.Cut(e.text, "\n")
		return "bash", `{"command":` + quote(command) + `}`, output
	}
	return e.kind, `{"` + pathKey + `":` + quote(e.text) + `}`, "…"
}

func openCodeMessage(e *entry, id string, at int64) json.Value {
	role, part := "assistant", `"type":"text","text":`+quote(e.text)
	switch e.kind {
	case "u":
		role = "user"
	case "run", "read", "edit":
		tool, input, output := e.toolCall("filePath")
		part = fmt.Sprintf(`"type":"tool","callID":"c","tool":%q,"state":{"status":"completed","input":%s,"output":%s,"metadata":{"exit":%d},"time":{"start":1}}`,
			tool, input, quote(output), e.status)
	}
	return json.Value(fmt.Sprintf(`{"info":{"id":%q,"sessionID":"s","role":%q,"finish":"stop","time":{"created":%d}},"parts":[{"id":"p%s",%s}]}`, id, role, at, id, part))
}

func piMessages(e *entry, id string, at int64) []json.Value {
	role, part := "assistant", `{"type":"text","text":`+quote(e.text)+`}`
	var result json.Value
	switch e.kind {
	case "u":
		role = "user"
	case "run", "read", "edit":
		tool, input, output := e.toolCall("path")
		part = fmt.Sprintf(`{"type":"toolCall","id":%q,"name":%q,"arguments":%s}`, id, tool, input)
		if e.status != 0 {
			output += fmt.Sprintf("\n\nCommand exited with code %d", e.status)
		}
		result = json.Value(fmt.Sprintf(`{"role":"toolResult","toolCallId":%q,"toolName":%q,"content":[{"type":"text","text":%s}],"isError":%t,"timestamp":%d}`, id, tool, quote(output), e.status != 0, at))
	}
	message := json.Value(fmt.Sprintf(`{"role":%q,"content":[%s],"provider":"p","model":"m","stopReason":"stop","timestamp":%d}`, role, part, at))
	if result != nil {
		return []json.Value{message, result}
	}
	return []json.Value{message}
}
