package history

import (
	"regexp"
	"slices"
	"strings"
)

// maxHashes bounds the commits that a block names.
const maxHashes = 5

var (
	// hexWord matches abbreviated commit hashes, with or without backticks. It also matches some words and dates, for
	// example "facade" and "20240101".
	hexWord    = regexp.MustCompile("`?\\b([0-9a-fA-F]{6,12})\\b`?")
	commitWord = regexp.MustCompile(`(?i)\b(?:commit(?:ted)?|cherry-pick(?:ed)?|hash(?:es)?|sha)\b`)

	emptyParentheses = regexp.MustCompile(`\( *\)`)
	doubledCommas    = regexp.MustCompile(`,(?: *,)+`)
	blankBeforeStop  = regexp.MustCompile(` +([,.;:!?)])`)
	blanks           = regexp.MustCompile(` {2,}`)
)

// commitsIn adds the commit hashes in a text to hashes. It writes them in lower case, and adds no hash twice.
func commitsIn(text string, hashes []string) []string {
	for _, m := range hexWord.FindAllStringSubmatch(text, -1) {
		if len(hashes) == maxHashes {
			break
		}
		if h := strings.ToLower(m[1]); !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// withoutCommits removes the listed hashes from a text. It does so only if the text mentions commits. In any other
// text, a word such as "facade" is probably not a hash, and must stay.
func withoutCommits(text string, listed []string) string {
	if len(listed) == 0 || !commitWord.MatchString(text) {
		return text
	}
	text = hexWord.ReplaceAllStringFunc(text, func(word string) string {
		if slices.Contains(listed, strings.ToLower(strings.Trim(word, "`"))) {
			return ""
		}
		return word
	})
	text = emptyParentheses.ReplaceAllString(text, "")
	text = doubledCommas.ReplaceAllString(text, ",")
	text = blankBeforeStop.ReplaceAllString(text, "$1")
	return strings.TrimSpace(blanks.ReplaceAllString(text, " "))
}
