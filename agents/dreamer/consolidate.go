package dreamer

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// Agent is the name of the dreamer in the harness.
const Agent = "magicctx-dreamer"

//go:embed system.md
var systemMD string

// System returns the system prompt.
func System() string { return strings.TrimSpace(systemMD) }

// A Job is a project whose memories may be merged.
type Job struct {
	Memories []chronicle.Memory // active ones
	// Models are the models to try, as "provider/model". If the list is empty, the harness chooses.
	Models  []string
	Timeout time.Duration // of one question
}

// A Merge replaces memories of one category with one.
type Merge struct {
	IDs      []int64
	Category string
	Content  string
}

// A Result is the answer of a model, as far as the rules allow it.
type Result struct {
	Merges []Merge
	// Rejected says for each other merge of the answer which rule it breaks.
	Rejected []string
	Model    string
	Usage    ask.Usage
}

// Consolidate asks which memories say the same. If there are too few memories, it asks nothing.
func Consolidate(ctx context.Context, a ask.Asker, j Job) (Result, error) {
	all := eligible(j.Memories)
	if len(all) == 0 {
		return Result{}, nil
	}
	models := ask.Models(j.Models...)
	if len(models) == 0 {
		models = []string{""}
	}
	var sum ask.Usage
	var failed error
	for _, model := range models {
		answer, err := ask.Once(ctx, a, ask.Request{Agent: Agent, Model: model, System: System(), Prompt: prompt(all), Timeout: j.Timeout})
		sum = sum.Plus(answer.Usage)
		if err == nil {
			var r Result
			if r, err = parse(answer.Text, all); err == nil {
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

// maxPrompt bounds the memories of one question, in bytes.
const maxPrompt = 100_000

// eligible returns the memories that may be merged: those of a category that has several. A pinned memory belongs to the
// user, the check of a memory tests only its own words, and a constraint may only be merged with its exact copy, which the
// store never has.
func eligible(memories []chronicle.Memory) (all []chronicle.Memory) {
	count, size := make(map[string]int), 0
	may := func(m chronicle.Memory) bool { return !m.Permanent && m.Check == "" && m.Category != "CONSTRAINTS" }
	for _, m := range memories {
		if may(m) {
			count[m.Category]++
		}
	}
	for _, category := range chronicle.Categories {
		for _, m := range memories {
			if m.Category == category && may(m) && count[category] > 1 && size+len(m.Content) <= maxPrompt {
				all, size = append(all, m), size+len(m.Content)
			}
		}
	}
	return all
}

// prompt lists memories by category.
func prompt(all []chronicle.Memory) string {
	var b strings.Builder
	category := ""
	for _, m := range all {
		if m.Category != category {
			category = m.Category
			fmt.Fprintf(&b, "\n%s\n", category)
		}
		fmt.Fprintf(&b, "<note id=\"%d\">%s</note>\n", m.ID, html.EscapeString(m.Content))
	}
	return strings.TrimSpace(b.String())
}

var mergeBlock = regexp.MustCompile(`(?s)<merge ids="([^"]*)">(.*?)</merge>`)

// parse reads an answer, and sorts out the merges that break a rule.
func parse(text string, all []chronicle.Memory) (Result, error) {
	blocks := mergeBlock.FindAllStringSubmatch(text, -1)
	if len(blocks) == 0 && !strings.Contains(text, "<none/>") {
		return Result{}, errors.New("the answer holds no merge, and does not say that there is none")
	}
	var r Result
	used := make(map[int64]bool)
	for _, block := range blocks {
		m, err := check(block[1], html.UnescapeString(block[2]), all, used)
		if err != nil {
			r.Rejected = append(r.Rejected, fmt.Sprintf("%.40s: %s", block[1], err))
			continue
		}
		for _, id := range m.IDs {
			used[id] = true
		}
		r.Merges = append(r.Merges, m)
	}
	return r, nil
}

// check returns the merge of some memories, or the rule that it breaks.
func check(ids, content string, all []chronicle.Memory, used map[int64]bool) (Merge, error) {
	m := Merge{Content: strings.Join(strings.Fields(content), " ")}
	size := 0
	for text := range strings.SplitSeq(ids, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		i := slices.IndexFunc(all, func(m chronicle.Memory) bool { return m.ID == id })
		switch {
		case err != nil || i < 0:
			return m, errors.New("it names a note that was not in the question")
		case slices.Contains(m.IDs, id) || used[id]:
			return m, errors.New("it names a note twice")
		case m.Category != "" && all[i].Category != m.Category:
			return m, errors.New("it mixes categories")
		}
		m.IDs, m.Category, size = append(m.IDs, id), all[i].Category, size+len(all[i].Content)
		for _, detail := range details(all[i].Content) {
			if !slices.Contains(wordsOf(m.Content), detail) {
				return m, fmt.Errorf("it loses %q of note %d", detail, id)
			}
		}
	}
	switch {
	case len(m.IDs) < 2:
		return m, errors.New("it names only one note")
	case m.Content == "":
		return m, errors.New("it has no text")
	case len(m.Content) > size:
		return m, errors.New("it is longer than the notes together")
	}
	return m, nil
}

// Without these words, a rule would say something else.
var restrictive = []string{"not", "never", "no", "must", "only", "always", "cannot", "don't", "without", "except", "unless"}

// around is the punctuation around a word.
const around = "`'\"()[]{}<>,;:!?"

// wordsOf returns the words of a text without the punctuation around them.
func wordsOf(text string) (words []string) {
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimRight(strings.TrimLeft(word, around), around+".")
		if lower := strings.ToLower(word); slices.Contains(restrictive, lower) {
			word = lower
		}
		words = append(words, word)
	}
	return words
}

// details returns the words of a text that a merge has to keep: names, paths, commands, keys, numbers and restrictions.
func details(text string) []string {
	return slices.DeleteFunc(wordsOf(text), func(word string) bool {
		isDetail := slices.Contains(restrictive, word)
		for i, r := range word {
			isDetail = isDetail || unicode.IsDigit(r) || strings.ContainsRune(`/\_=-.:@#$*+&|~%^`, r) || unicode.IsUpper(r) && i > 0
		}
		return !isDetail
	})
}
