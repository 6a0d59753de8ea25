package dreamer

import (
	"context"
	"errors"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

const Agent = "magicctx-dreamer"

type Job struct {
	Memories []chronicle.Memory // only active memories
	// Findings maps ids of memories to findings. It has an entry for each memory that the project's files may
	// contradict.
	Findings map[int64]Finding
	// Excess is the size in tokens of the memories that do not fit into a prompt.
	Excess int
	Now    int64 // Unix ms
	// Models are the models to try, as "provider/model". If the list is empty, the harness chooses.
	Models  []string
	Timeout time.Duration // of one question
}

// A Finding says how a project's files contradict a memory. Gone lists the paths in the memory that do not exist. Found
// lists existing files with the same names.
type Finding struct {
	Gone, Found []string
}

type Change struct {
	Kind    Kind
	IDs     []int64
	Content string // the new text, or the reason for an archive
	// After a split, Content is the first new memory, and More has the others.
	More []string
}

type Kind string

const (
	Merge   Kind = "merge"   // several memories become one
	Update  Kind = "update"  // a memory gets another text
	Split   Kind = "split"   // one memory becomes several
	Archive Kind = "archive" // memories are no longer shown
)

// A Result contains the changes from a model's answer that the rules allow.
type Result struct {
	Changes []Change
	// Rejected contains one text for each rejected change: the rule that the change broke.
	Rejected []string
	Model    string
	Usage    ask.Usage
}

const (
	// maxPrompt limits the memories in one question, in bytes. The default daily budget covers a question of this size.
	maxPrompt = 24_000
	// `thinking` is the number of tokens that MaxOutput allows for the model's thinking.
	thinking = 4_000
)

// Question returns the task's question for the first model of the job, and the memories that the question shows. If the
// question shows no memory, there is nothing to do.
func (t Task) Question(j Job) (ask.Request, []chronicle.Memory) {
	var shown []chronicle.Memory
	size := 0
	for _, m := range t.pageOf(j) {
		if size += len(t.line(j, m)); size > maxPrompt {
			break
		}
		shown = append(shown, m)
	}
	q := ask.Request{Agent: Agent, System: strings.TrimSpace(t.system), Prompt: t.prompt(j, shown), Timeout: j.Timeout}
	if models := ask.Models(j.Models...); len(models) > 0 {
		q.Model = models[0]
	}
	q.MaxOutput = thinking + tokens.Count(q.Prompt)/2
	return q, shown
}

// pageOf returns the memories in the order in which the question shows them. If one question cannot show all of them,
// the order begins with a different memory each day. So after some days, every memory has been in a question.
func (t Task) pageOf(j Job) []chronicle.Memory {
	all, size := t.choose(j), 0
	for _, m := range all {
		size += len(t.line(j, m))
	}
	pages := 2*size/maxPrompt + 1 // they overlap, because some memories are longer than others
	day := int(j.Now / (24 * time.Hour).Milliseconds())
	begin := len(all) * (day % pages) / pages
	return append(slices.Clone(all[begin:]), all[:begin]...)
}

// Run asks one model after another until one gives an answer that Run can parse. If there is no memory to ask about,
// Run asks no model.
func (t Task) Run(ctx context.Context, a ask.Asker, j Job) (Result, error) {
	question, shown := t.Question(j)
	if len(shown) == 0 {
		return Result{}, nil
	}
	models := ask.Models(j.Models...)
	if len(models) == 0 {
		models = []string{""}
	}
	var sum ask.Usage
	var failed error
	for _, model := range models {
		question.Model = model
		answer, err := ask.Once(ctx, a, question)
		sum = sum.Plus(answer.Usage)
		if err == nil {
			var r Result
			if r, err = t.parse(answer.Text, j, shown); err == nil {
				r.Model, r.Usage = answer.Model, sum
				return r, nil
			}
		}
		failed = errors.Join(failed, err)
		if ask.Classify(err).Final() {
			break
		}
	}
	return Result{Usage: sum}, failed
}

func (t Task) prompt(j Job, shown []chronicle.Memory) string {
	var b strings.Builder
	category := ""
	for _, m := range shown {
		if m.Category != category {
			category = m.Category
			fmt.Fprintf(&b, "\n%s\n", category)
		}
		b.WriteString(t.line(j, m))
	}
	return strings.TrimSpace(b.String())
}

func (t Task) line(j Job, m chronicle.Memory) string {
	finding := ""
	if t.Name == Verify || t.Name == MaintainDocs {
		finding = fmt.Sprintf(" finding=%q", html.EscapeString(j.Findings[m.ID].text(m)))
	}
	return fmt.Sprintf("<note id=\"%d\"%s>%s</note>\n", m.ID, finding, html.EscapeString(m.Content))
}

func (f Finding) text(m chronicle.Memory) string {
	var parts []string
	if len(f.Gone) > 0 {
		parts = append(parts, "not found: "+strings.Join(f.Gone, ", "))
	}
	if len(f.Found) > 0 {
		parts = append(parts, "found elsewhere: "+strings.Join(f.Found, ", "))
	}
	if m.Doubt != "" {
		parts = append(parts, m.Doubt)
	}
	return strings.Join(parts, "; ")
}

var block = regexp.MustCompile(`(?s)<(merge|update|split|archive) ids="([^"]*)">(.*?)</(merge|update|split|archive)>`)

var fact = regexp.MustCompile(`(?s)<fact>(.*?)</fact>`)

func (t Task) parse(text string, j Job, shown []chronicle.Memory) (Result, error) {
	blocks := block.FindAllStringSubmatch(text, -1)
	if len(blocks) == 0 && !strings.Contains(text, "<none/>") {
		return Result{}, errors.New("the answer holds no change, and does not say that there is none")
	}
	var r Result
	c := checker{task: t, job: j, shown: shown, used: make(map[int64]bool)}
	for _, b := range blocks {
		ch := Change{Kind: Kind(b[1])}
		texts := []string{b[3]}
		if ch.Kind == Split {
			texts = nil
			for _, f := range fact.FindAllStringSubmatch(b[3], -1) {
				texts = append(texts, f[1])
			}
		}
		for i, text := range texts {
			if text = strings.Join(strings.Fields(html.UnescapeString(text)), " "); i == 0 {
				ch.Content = text
			} else {
				ch.More = append(ch.More, text)
			}
		}
		err := c.check(&ch, b[2])
		if b[1] != b[4] {
			err = errors.New("its element is not closed")
		}
		if err != nil {
			r.Rejected = append(r.Rejected, fmt.Sprintf("%s of %.40s: %s", ch.Kind, b[2], err))
			continue
		}
		c.accept(ch)
		r.Changes = append(r.Changes, ch)
	}
	return r, nil
}

// A checker applies a task's rules to one answer.
type checker struct {
	task  Task
	job   Job
	shown []chronicle.Memory
	// `used` contains the ids of all memories in the accepted changes. `freed` is the number of tokens in the memories
	// that these changes archive.
	used  map[int64]bool
	freed int
}

func (c *checker) accept(ch Change) {
	for _, id := range ch.IDs {
		c.used[id] = true
		if ch.Kind == Archive {
			c.freed += tokens.Count(c.memory(id).Content)
		}
	}
}

// memory returns a memory of the question, or nil.
func (c *checker) memory(id int64) *chronicle.Memory {
	i := slices.IndexFunc(c.shown, func(m chronicle.Memory) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &c.shown[i]
}

// check returns the rule that the change breaks.
func (c *checker) check(ch *Change, ids string) error {
	if !slices.Contains(c.task.may, ch.Kind) {
		return fmt.Errorf("%s may not do that", c.task.Name)
	}
	var of []chronicle.Memory
	for text := range strings.SplitSeq(ids, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		m := c.memory(id)
		switch {
		case err != nil || m == nil:
			return errors.New("it names a note that was not in the question")
		case slices.Contains(ch.IDs, id) || c.used[id]:
			return errors.New("it names a note twice")
		}
		ch.IDs, of = append(ch.IDs, id), append(of, *m)
	}
	switch {
	case ch.Content == "":
		return errors.New("it has no text")
	case ch.Kind == Archive:
		return c.checkArchive(ch, of)
	case ch.Kind == Update:
		return c.checkUpdate(ch, of)
	case ch.Kind == Split:
		return checkSplit(append([]string{ch.Content}, ch.More...), of)
	default:
		return checkMerge(ch, of)
	}
}
