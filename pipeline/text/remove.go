package text

import (
	"strings"
	"unicode/utf8"
)

const (
	sentenceEnds = ".!?…"
	pauses       = ",;:"
	closers      = ")]}>\"”’»*|"
	openers      = "([{<\"“‘«*|"
	// framers are characters that may stand directly before a whole statement, such as the ">" in "> Sure."
	framers = openers + ":-–—+>#"
)

// remove removes a word together with its punctuation. It turns "this, please." into "this.", and "well; clearly, it"
// into "well; it". It never joins lines. A word that is emphasised, quoted or negated stays. A word that is a whole
// sentence stays as well, unless it is a courtesy such as "Sure!".
func remove(out []byte, f found) ([]byte, int) {
	before, next := trimBlanks(out), f.end
	opensLine := startsLine(before)
	left, right := lastRune(before), f.follows()
	fresh := opensLine || in(left, sentenceEnds)

	switch {
	case f.isEnclosed(), f.kind == filler && isNegated(before):
		return out, 0
	case endsSentence(right) && (in(left, framers) || fresh && f.kind == filler):
		return out, 0
	case fresh && in(right, pauses+sentenceEnds), in(left, framers) && in(right, pauses), left == ';' && right == ',':
		next = afterPunctuation(f.s, next)
	case left == ',' && (endsSentence(right) || in(right, pauses)), left == ';' && endsSentence(right):
		before = trimBlanks(before[:len(before)-1])
	}

	if opensLine {
		next = afterBlanks(f.s, next)
		if isEndOfLine(f.s, next) {
			return before, next + lineEndLen(f.s[next:]) // an empty line would start a paragraph
		}
		return out, next // keep the indentation
	}
	if len(before) == len(out) {
		return before, afterBlanks(f.s, next) // as in "(just do it)"
	}
	if r := firstRune(f.s[next:]); r != 0 && !IsJSSpace(r) && !in(r, pauses+sentenceEnds+closers) {
		before = append(before, ' ')
	}
	return before, next
}

// follows returns the character directly after the phrase. If only blanks separate the phrase from the end of its line,
// follows returns 0. If only blanks separate it from the end of its table cell, follows returns '|'.
func (f found) follows() rune {
	next := afterBlanks(f.s, f.end)
	switch {
	case isEndOfLine(f.s, next):
		return 0
	case f.s[next] == '|':
		return '|'
	}
	return firstRune(f.s[f.end:])
}

func (f found) isEnclosed() bool {
	return in(lastRune(f.s[:f.start]), openers) && in(firstRune(f.s[f.end:]), closers)
}

func endsSentence(r rune) bool { return r == 0 || in(r, sentenceEnds) || in(r, closers) }

// isNegated reports whether a negation stands before the word. Such a word must stay: "not just this" does not mean
// "not this".
func isNegated(before []byte) bool {
	for _, word := range []string{"not", "cannot", "never"} {
		if hasFoldSuffix(before, word) && !isWordRune(lastRune(before[:len(before)-len(word)])) {
			return true
		}
	}
	return hasFoldSuffix(before, "n't") || hasFoldSuffix(before, "n’t")
}

func in(r rune, set string) bool { return r != 0 && strings.ContainsRune(set, r) }

// startsLine reports whether the next word begins a line. The caller has removed the blanks at the end of out.
func startsLine(out []byte) bool { return len(out) == 0 || isLineEnd(lastRune(out)) }

func isEndOfLine(s string, i int) bool { return i == len(s) || isLineEnd(firstRune(s[i:])) }

func lineEndLen(s string) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case strings.HasPrefix(s, "\n"):
		return 1
	}
	return 0
}

func trimBlanks(b []byte) []byte {
	for len(b) > 0 {
		r, size := utf8.DecodeLastRune(b)
		if !isBlank(r) {
			break
		}
		b = b[:len(b)-size]
	}
	return b
}

func afterBlanks(s string, i int) int {
	return len(s) - len(strings.TrimLeftFunc(s[i:], isBlank))
}

func afterPunctuation(s string, i int) int {
	return len(s) - len(strings.TrimLeft(s[i:], pauses+sentenceEnds))
}
