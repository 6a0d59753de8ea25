package text

import (
	"regexp"
	"strings"
)

var (
	reminder  = regexp.MustCompile(`(?is)<system-reminder>.*?</system-reminder>`)
	emptyLine = regexp.MustCompile(`\n[ \t\r]*\n`)
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s`)
)

// HasInjection reports whether a harness or plugin seems to have written a part
// of text. StripInjections may still find nothing to remove: a directive of
// this program counts as a sign, and stays in the text.
func HasInjection(text string) bool {
	for _, m := range []string{initiatorComment, ourDirectiveOpens, orchestratorOpens} {
		if strings.Contains(text, m) {
			return true
		}
	}
	for _, m := range paragraphMarkers {
		if strings.Contains(text, m) {
			return true
		}
	}
	return reminder.MatchString(text)
}

// StripInjections returns text, trimmed, without the parts that the harness and
// plugins put into it: reminder blocks, initiator comments, orchestrator
// directives with their lists, and the first paragraph of each other kind. It
// returns a text without injection unchanged.
func StripInjections(text string) string {
	if !HasInjection(text) {
		return text
	}
	text = reminder.ReplaceAllLiteralString(text, "")
	text = strings.ReplaceAll(text, initiatorComment, "")
	text = stripDirectives(text)
	for _, m := range paragraphMarkers {
		if i := strings.Index(text, m); i >= 0 {
			text = text[:i] + text[i+paragraphLen(text[i:]):]
		}
	}
	return trimJS(text)
}

func stripDirectives(text string) string {
	var b strings.Builder
	for {
		at := directive.FindStringIndex(text)
		if at == nil {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at[0]])
		text = text[at[1]:]
		text = text[directiveLen(text):]
	}
}

// directiveLen returns the length of the directive at the start of s. A list
// belongs to the directive even if an empty line precedes it.
func directiveLen(s string) int {
	end := 0
	for {
		at := emptyLine.FindStringIndex(s[end:])
		if at == nil {
			return len(s)
		}
		if !listItem.MatchString(s[end+at[1]:]) {
			return end + at[0]
		}
		end += at[1]
	}
}

// paragraphLen returns the length of s up to its first empty line.
func paragraphLen(s string) int {
	if at := emptyLine.FindStringIndex(s); at != nil {
		return at[0]
	}
	return len(s)
}

// IsInjectedOnly reports whether the whole text comes from a harness or plugin:
// it is the initiator comment, or one reminder block, or starts with an
// injected directive or warning.
func IsInjectedOnly(text string) bool {
	text = trimJS(text)
	if text == initiatorComment {
		return true
	}
	for _, opening := range injectedOpenings {
		if strings.HasPrefix(text, opening) {
			return true
		}
	}
	// The pattern matches up to the first closing tag: there may be other text between
	// two reminder blocks.
	at := reminder.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}
