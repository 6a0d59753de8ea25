package recall

import (
	"bytes"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/terms"
)

// If a line contains this share of a statement's terms, the line says the same as the statement.
const same = 0.7

// isSeen reports whether the model already sees what the fact says. `visible` is the text that the model sees. It may
// be JSON.
func (f *fact) isSeen(visible []byte) bool {
	if r := f.remedy; r != nil {
		if r.command != "" && bytes.Contains(visible, []byte(r.command)) {
			return true
		}
		if r.sentence == "" {
			return false
		}
		return says(visible, r.sentence, nil, false)
	}
	return says(visible, strings.TrimSpace(f.lead+" "+f.text), f.asked, f.class == rule)
}

// The function `says` reports whether one line of text says the same as a sentence. `asked` contains the terms of the
// cue that led to the sentence, for example the terms of a prompt. The line must contain most of the sentence's terms:
// all that are also in `asked`, and some of the others. If the sentence is a rule and all its terms are in `asked`, the
// line must be a rule, too. Otherwise, a prompt that only asks for the forbidden thing would count as the rule itself.
func says(text []byte, sentence string, asked []string, isRule bool) bool {
	if bytes.Contains(text, []byte(sentence)) {
		return true
	}
	all := content(sentence)
	var named, added []string
	for _, t := range all {
		if slices.Contains(asked, t) {
			named = append(named, t)
		} else {
			added = append(added, t)
		}
	}
	key := []byte(longest(sentence))
	for len(key) > 0 {
		i := bytes.Index(text, key)
		if i < 0 {
			return false
		}
		from, to := lineAround(text, i, i+len(key))
		line := string(text[from:to])
		has := content(line)
		if share(all, has) >= same && share(named, has) == 1 && share(added, has) >= same/2 && (!isRule || len(added) > 0 || rulePattern.MatchString(line)) {
			return true
		}
		text = text[to:]
	}
	return false
}

// The function `longest` returns the longest word of a sentence, not counting filler words. This word most likely names
// the sentence's topic.
func longest(sentence string) (word string) {
	for _, w := range strings.FieldsFunc(sentence, func(r rune) bool { return strings.ContainsRune(" \t`\"'.,;:!?()<>[]{}", r) }) {
		if len(w) > len(word) && !slices.ContainsFunc(terms.Of(w), func(t string) bool { return empty[t] }) {
			word = w
		}
	}
	return word
}

// The text may be JSON. A long line is cut.
func lineAround(text []byte, from, to int) (start, end int) {
	const most = 600
	start, end = max(0, from-most), min(len(text), to+most)
	for _, brk := range [...]string{"\n", `\n`} {
		if i := bytes.LastIndex(text[start:from], []byte(brk)); i >= 0 {
			start += i + len(brk)
		}
		if i := bytes.Index(text[to:end], []byte(brk)); i >= 0 {
			end = to + i
		}
	}
	return start, end
}
