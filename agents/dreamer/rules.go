package dreamer

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A Task is one kind of work on the memories. It has a question to a model, and rules for the answer.
type Task struct {
	Name string
	// Title tells the user what the task does.
	Title  string
	system string
	may    []Kind
	choose func(Job) []chronicle.Memory
}

// The names of the tasks in the setting dreamer.tasks.
const (
	Consolidate  = "consolidate"
	Verify       = "verify"
	ArchiveStale = "archive-stale"
	Improve      = "improve"
	MaintainDocs = "maintain-docs"
)

//go:embed prompts
var prompts embed.FS

// Tasks are in the order in which they run.
var Tasks = []Task{
	{Consolidate, "merge memories that say the same", system(Consolidate), []Kind{Merge}, repeated},
	{Verify, "correct memories whose files are gone", system(Verify), []Kind{Update, Archive}, doubtful},
	{ArchiveStale, "archive memories of no use", system(ArchiveStale), []Kind{Archive}, stale},
	{Improve, "rewrite unclear memories", system(Improve), []Kind{Update, Split}, unclear},
	{MaintainDocs, "propose corrections of the project's documents", system(MaintainDocs), []Kind{Update, Archive}, doubtful},
}

func system(name string) string {
	text, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The dreamer must not change a memory that the user has pinned. It must not change a constraint either, because the
// exact words of a constraint matter.
func isOurs(m chronicle.Memory) bool { return !m.Permanent && m.Category != "CONSTRAINTS" }

// isRule reports whether a memory states a rule or a reason. Files cannot prove such a memory wrong, and it stays
// useful even if no session learns it again.
func isRule(m chronicle.Memory) bool {
	return hasReason(m.Content) || slices.ContainsFunc(wordsOf(m.Content), isRestrictive)
}

func byCategory(j Job, may func(chronicle.Memory) bool) (all []chronicle.Memory) {
	for _, m := range j.Memories {
		if isOurs(m) && may(m) {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b chronicle.Memory) int {
		return cmp.Compare(slices.Index(chronicle.Categories[:], a.Category), slices.Index(chronicle.Categories[:], b.Category))
	})
	return all
}

// The function `repeated` returns the memories that may repeat each other: all memories of each category that has
// several. It skips a memory with a check, because the check tests the exact words of the memory.
func repeated(j Job) []chronicle.Memory {
	count := make(map[string]int)
	may := func(m chronicle.Memory) bool { return m.Check == "" }
	for _, m := range byCategory(j, may) {
		count[m.Category]++
	}
	return byCategory(j, func(m chronicle.Memory) bool { return may(m) && count[m.Category] > 1 })
}

func doubtful(j Job) []chronicle.Memory {
	return byCategory(j, func(m chronicle.Memory) bool { return m.Doubt != "" || len(j.Findings[m.ID].Gone) > 0 })
}

// A memory is stale if no session has learned it again for this time.
const staleAfter = 14 * 24 * time.Hour

// The function `stale` returns the memories that may be archived. While all memories fit into a prompt, it returns
// none.
func stale(j Job) []chronicle.Memory {
	if j.Excess <= 0 {
		return nil
	}
	return byCategory(j, func(m chronicle.Memory) bool {
		isOld := max(m.SeenAt, m.UpdatedAt, m.CreatedAt) <= j.Now-staleAfter.Milliseconds()
		return isOld && m.Seen <= 1 && m.Source != chronicle.FromUser && !isRule(m)
	})
}

// A memory of longFrom bytes or more is unclear, because one fact in one sentence is shorter.
const longFrom = 240

// The function `unclear` returns the memories that tell a story, are long, or contain several facts. It skips memories
// that the user wrote, and memories with a check, because the check tests their exact words.
func unclear(j Job) []chronicle.Memory {
	return byCategory(j, func(m chronicle.Memory) bool {
		isStory := slices.ContainsFunc(wordsOf(m.Content), func(word string) bool { return slices.Contains(narrative, strings.ToLower(word)) })
		return (isStory || len(m.Content) >= longFrom || hasSeveralFacts(m)) && m.Source != chronicle.FromUser && m.Check == ""
	})
}

// hasSeveralFacts reports whether a memory probably contains several facts, so that it may be split. Two sentences are
// not enough: a rewritten memory often has two, and the dreamer would ask about it again each night.
func hasSeveralFacts(m chronicle.Memory) bool {
	return !isRule(m) && strings.Count(m.Content, ". ") >= 2
}

// The reason for archiving a stale memory must begin with one of these words.
var reasons = []string{"code", "redundant", "volatile", "measurement", "fixed", "value"}

func (c *checker) checkArchive(ch *Change, of []chronicle.Memory) error {
	if c.task.Name == ArchiveStale {
		word, _, _ := strings.Cut(ch.Content, ":")
		switch {
		case !slices.Contains(reasons, word):
			return fmt.Errorf("%q is no reason", word)
		case c.freed >= c.job.Excess:
			return errors.New("the other notes fit into a prompt now")
		}
	}
	for _, m := range of {
		if m.Source == chronicle.FromUser || isRule(m) {
			return fmt.Errorf("note %d is a rule, or the user's", m.ID)
		}
	}
	return nil
}

func (c *checker) checkUpdate(ch *Change, of []chronicle.Memory) error {
	if len(of) != 1 {
		return errors.New("it names several notes")
	}
	m, finding := of[0], c.job.Findings[ch.IDs[0]]
	if m.Check != "" {
		return errors.New("the check of the note tests its words")
	}
	if c.task.Name == Improve {
		return checkRewriting(ch.Content, m)
	}
	size := len(m.Content)
	for _, path := range finding.Found {
		size += len(path)
	}
	if len(ch.Content) > size {
		return errors.New("it adds something")
	}
	return keeps(ch.Content, of, finding)
}

// checkRewriting cannot compare meanings, so it compares words. The new text must be shorter, and must keep the details
// and the reason.
func checkRewriting(content string, m chronicle.Memory) error {
	if err := checkWords(content, m, 2); err != nil {
		return err
	}
	if hasReason(m.Content) && !hasReason(content) {
		return errors.New("it loses the reason")
	}
	return keeps(content, []chronicle.Memory{m}, Finding{})
}

// maxFacts bounds the facts into which a memory is split.
const maxFacts = 5

// checkSplit checks a memory that was split into facts. Together, the facts must keep all details. A memory that states
// a rule is never split, because a fact could lose the rule's condition or reason.
func checkSplit(facts []string, of []chronicle.Memory) error {
	switch {
	case len(of) != 1:
		return errors.New("it names several notes")
	case len(facts) < 2 || len(facts) > maxFacts:
		return fmt.Errorf("it has %d facts, and not 2 to %d", len(facts), maxFacts)
	case isRule(of[0]):
		return fmt.Errorf("note %d is a rule", of[0].ID)
	}
	known := wordsOf(strings.ToLower(of[0].Content))
	size := 0
	for i, text := range facts {
		size += len(text)
		if text == "" || slices.Contains(facts[:i], text) {
			return errors.New("a fact is empty, or says the same as another")
		}
		if err := checkWords(text, of[0], 4); err != nil {
			return err
		}
		if moved, ok := movedDetail(text, known); ok {
			return fmt.Errorf("%q no longer stands after the same word", moved)
		}
	}
	if 2*size > 3*len(of[0].Content) {
		return errors.New("the facts are longer than half as much again")
	}
	return keeps(strings.Join(facts, " "), of, Finding{})
}

// movedDetail compares a fact with the note from which it was split. It looks for a detail, for example a number, that
// does not follow the same word in both. Such a detail may have moved from one fact to another: "timeout 30, retries 5"
// must not become "timeout 5".
func movedDetail(fact string, note []string) (moved string, ok bool) {
	words := wordsOf(strings.ToLower(fact))
	for _, detail := range details(fact) {
		detail = strings.ToLower(detail)
		isSame := false
		for i := range words {
			for j := range note {
				before := i == 0 && j == 0 || i > 0 && j > 0 && words[i-1] == note[j-1]
				isSame = isSame || words[i] == detail && note[j] == detail && before
			}
		}
		if !isSame {
			return detail, true
		}
	}
	return "", false
}

// checkWords checks that `content` is shorter than the memory, and that few of its words are new. For example, if `in`
// is 4, at most a quarter of the words may be new.
func checkWords(content string, m chronicle.Memory, in int) error {
	known, isNew := make(map[string]bool), 0
	for _, word := range wordsOf(m.Content) {
		known[strings.ToLower(word)] = true
	}
	words := wordsOf(content)
	for _, word := range words {
		if !known[strings.ToLower(word)] {
			isNew++
		}
	}
	switch {
	case len(content) >= len(m.Content):
		return errors.New("it is not shorter")
	case in*isNew > len(words):
		return errors.New("too many of its words are new")
	}
	return nil
}

func hasReason(text string) bool {
	return slices.ContainsFunc(wordsOf(text), func(word string) bool { return slices.Contains(rationale, strings.ToLower(word)) })
}

func checkMerge(ch *Change, of []chronicle.Memory) error {
	size := 0
	for _, m := range of {
		if m.Category != of[0].Category {
			return errors.New("it mixes categories")
		}
		size += len(m.Content)
	}
	switch {
	case len(of) < 2:
		return errors.New("it names only one note")
	case len(ch.Content) > size:
		return errors.New("it is longer than the notes together")
	}
	return keeps(ch.Content, of, Finding{})
}

// The function `keeps` checks that the new text has all details of the old texts, and no others. As an exception, it
// may omit the details in f.Gone and add the details in f.Found.
func keeps(content string, old []chronicle.Memory, f Finding) error {
	known := slices.Clone(f.Found)
	words := wordsOf(content)
	for _, m := range old {
		for _, code := range quoted.FindAllString(m.Content, -1) {
			code = strings.Trim(code, around)
			if !strings.Contains(content, code) && !slices.Contains(f.Gone, code) {
				return fmt.Errorf("it loses %q of note %d", code, m.ID)
			}
		}
		for _, detail := range details(m.Content) {
			if known = append(known, detail); !slices.Contains(words, detail) && !slices.Contains(f.Gone, detail) {
				return fmt.Errorf("it loses %q of note %d", detail, m.ID)
			}
		}
	}
	for _, detail := range details(content) {
		if !slices.Contains(known, detail) {
			return fmt.Errorf("it adds %q", detail)
		}
	}
	return nil
}

var (
	// If a rule loses one of these words, its meaning changes.
	restrictive = []string{"not", "never", "no", "must", "only", "always", "cannot", "without", "except", "unless"}
	// A rule's reason follows one of these words.
	rationale = []string{"because", "since", "otherwise", "therefore", "so"}
	// These words occur in stories about a session.
	narrative = []string{
		"i", "we", "our", "today", "yesterday", "currently", "recently", "earlier", "discussed", "agreed", "decided", "realized", "realised",
		"noticed", "discovered", "tried", "figured", "basically", "actually",
	}
)

var quoted = regexp.MustCompile("`[^`]+`")

// isRestrictive also accepts words like "isn't".
func isRestrictive(word string) bool {
	return slices.Contains(restrictive, word) || strings.HasSuffix(word, "n't") || strings.HasSuffix(word, "n’t")
}

const around = "`'\"()[]{}<>,;:!?"

func wordsOf(text string) (words []string) {
	for word := range strings.FieldsSeq(strings.ReplaceAll(text, "](", "] (")) { // a link of Markdown is two words
		word = strings.TrimRight(strings.TrimLeft(word, around), around+".")
		if lower := strings.ToLower(word); isRestrictive(lower) {
			word = lower
		}
		words = append(words, word)
	}
	return words
}

// The function `details` returns the words that a new text must keep: names, paths, commands, keys, numbers, and words
// such as "never".
func details(text string) []string {
	return slices.DeleteFunc(wordsOf(text), func(word string) bool {
		isDetail := isRestrictive(word)
		for i, r := range word {
			isDetail = isDetail || unicode.IsDigit(r) || strings.ContainsRune(`/\_=-.:@#$*+&|~%^`, r) || unicode.IsUpper(r) && i > 0
		}
		return !isDetail
	})
}

// Paths returns the words that look like paths in a project, for example "src/util.go".
func Paths(text string) (paths []string) {
	for _, word := range wordsOf(text) {
		if strings.Contains(strings.Trim(word, "/"), "/") && !strings.ContainsAny(word, `:*$~@%\{}<>|`) && !strings.HasPrefix(word, "/") && !strings.Contains(word, "..") {
			paths = append(paths, word)
		}
	}
	return paths
}
