package sidekick

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/terms"
)

var (
	thought = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	query   = regexp.MustCompile(`(?s)<query>(.*?)</query>`)
	finding = regexp.MustCompile(`(?s)<finding result="(\d{1,4})">(.*?)</finding>`)
)

// With this sentence, a model says that no result helps.
const nothing = "nothing helpful was found"

func isNothing(answer string) bool {
	answer = strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), ".! "))
	return answer == "" || answer == nothing
}

func withoutThinking(answer string) string {
	return strings.TrimSpace(thought.ReplaceAllString(answer, ""))
}

// A search and a finding are bounded in bytes.
const (
	maxQuery   = 200
	maxFinding = 400
)

// queriesOf returns the searches that an answer asks for. If there are too many, it returns only the first ones.
func queriesOf(answer string) (queries []string, err error) {
	for _, m := range query.FindAllStringSubmatch(answer, -1) {
		if text := oneLine(m[1]); text != "" && len(text) <= maxQuery && len(queries) < maxQueries {
			queries = append(queries, text)
		}
	}
	if len(queries) == 0 {
		return nil, errors.New("the answer names no search")
	}
	return queries, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(html.UnescapeString(text)), " ") }

func (r *Result) read(answer, words string, hits []Hit) error {
	r.Findings, r.Rejected = nil, nil
	for _, m := range finding.FindAllStringSubmatch(answer, -1) {
		number, _ := strconv.Atoi(m[1])
		f := Finding{number - 1, oneLine(m[2])}
		if err := check(f, words, hits); err != nil {
			r.Rejected = append(r.Rejected, fmt.Sprintf("finding of result %d: %s", number, err))
		} else if len(r.Findings) < maxFindings {
			r.Findings = append(r.Findings, f)
		}
	}
	switch {
	case len(r.Findings) > 0:
		return nil
	case len(r.Rejected) > 0:
		return fmt.Errorf("no finding keeps the rules: %s", r.Rejected[0])
	case !isNothing(answer):
		return errors.New("the answer holds no finding, and does not say that there is none")
	}
	return nil
}

func check(f Finding, words string, hits []Hit) error {
	if f.Hit < 0 || f.Hit >= len(hits) {
		return errors.New("there is no such result")
	}
	if len(f.Text) > maxFinding {
		return errors.New("it is too long")
	}
	hit := hits[f.Hit]
	for _, r := range f.Text {
		if isOdd(r) && !strings.ContainsRune(hit.Text, r) && !strings.ContainsRune(words, r) {
			return fmt.Errorf("%q is not in the result", r)
		}
	}
	begins := true // a sentence
	for word := range strings.FieldsSeq(f.Text) {
		if name := nameIn(word); isPrecise(name, begins) && !has(hit.Text, name) && !has(words, name) {
			return fmt.Errorf("%q is not in the result", cut(name, maxQuery))
		}
		begins = strings.ContainsAny(word[len(word)-1:], ".!?:")
	}
	return checkAnchor(f.Text, hit.Text)
}

// isOdd reports characters such as a circled letter or a fraction. They could spell a name that the rules for words do
// not recognise.
func isOdd(r rune) bool {
	return r >= utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("“”‘’«»–—…。、，", r)
}

// nameIn removes the punctuation around a word. It keeps the sign of a number and the dashes of an option.
func nameIn(word string) string {
	name := strings.TrimFunc(word, func(r rune) bool { return !isWord(r) })
	before, _, _ := strings.Cut(word, name)
	return before[len(strings.TrimRight(before, "-")):] + name
}

// A word with more bytes than this is treated like a name: it must occur literally in the result.
const longestWord = 40

// A precise word is a name, a path, an option or a number, such as "busy_timeout", "src/db.go", "--force" or "30". A
// model may say a fact in other words, but not with other names and numbers. A capital letter at the beginning of a
// sentence does not make a name.
func isPrecise(word string, begins bool) bool {
	if len(word) > longestWord || strings.HasPrefix(word, "-") {
		return true
	}
	for i, r := range word {
		if unicode.IsNumber(r) || strings.ContainsRune(`_./\:=@#$`, r) || unicode.IsUpper(r) && (i > 0 || !begins) {
			return true
		}
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func has(text, word string) bool {
	text, word = strings.ToLower(text), strings.ToLower(word)
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !isWord(before) && !isWord(after) {
			return true
		}
		from = at + len(word)
	}
}

// checkAnchor rejects a text that has too little in common with the hit. At least two of the text's terms, and at least
// a third of them, must also be terms of the hit. Function words such as "the" do not count.
func checkAnchor(text, hit string) error {
	known := make(map[string]bool)
	terms.Each(hit, func(term []byte, _ int) { known[string(term)] = true })
	all, shared := 0, 0
	for _, term := range terms.Of(text) {
		if terms.IsFunctionWord(term) {
			continue
		}
		if all++; known[term] {
			shared++
		}
	}
	if shared == 0 || shared < min(2, all) || 3*shared < all {
		return errors.New("it says something else than the result")
	}
	return nil
}
