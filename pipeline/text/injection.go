package text

import (
	"regexp"
	"strings"
)

const (
	initiatorComment  = "<!-- OMO_INTERNAL_INITIATOR -->"
	orchestratorOpens = "[SYSTEM DIRECTIVE: OH-MY-OPENCODE"
	ourDirectiveOpens = "[SYSTEM DIRECTIVE: MAGIC-CONTEXT"
)

// paragraphMarkers open a paragraph that some plugin put into a message (spec
// transform §15.1).
var paragraphMarkers = []string{
	"[Category+Skill Reminder]",
	"[EDIT ERROR - IMMEDIATE ACTION REQUIRED]",
	"[task CALL FAILED - IMMEDIATE RETRY REQUIRED]",
	"[EMERGENCY CONTEXT WINDOW WARNING]",
	"Unstable background agent appears idle",
	"**THE SUBAGENT JUST CLAIMED THIS TASK IS DONE.",
}

// injectedOpenings open messages that hold nothing else (spec transform §18).
var injectedOpenings = []string{
	"[SYSTEM DIRECTIVE:",
	"[Category+Skill Reminder]",
	"[EDIT ERROR - IMMEDIATE ACTION REQUIRED]",
	"[task CALL FAILED",
	"[EMERGENCY CONTEXT WINDOW WARNING]",
}

var (
	reminder  = regexp.MustCompile(`(?is)<system-reminder>.*?</system-reminder>`)
	directive = regexp.MustCompile(`\[SYSTEM DIRECTIVE: OH-MY-(?:OPENCODE|CLAUDE)[^\]\n]*\]?`)
	emptyLine = regexp.MustCompile(`\n[ \t\r]*\n`)
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s`)
)

// HasInjection reports whether text shows a sign of having been written in part
// by a harness or plugin rather than by its author (spec transform §15.1).
// StripInjections need not find something to remove then: a directive of our
// own kind counts, and stays.
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

// StripInjections returns text without what harness and plugins put into it,
// trimmed (spec transform §15.1): reminder blocks, initiator comments,
// orchestrator directives with their lists, and the first paragraph of each
// other kind. A text without injection is returned as it is.
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

// directiveLen returns the length of what belongs to a directive at the start
// of s: a list belongs to it although an empty line precedes it.
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

// IsInjectedOnly reports whether text, apart from its tags, is nothing but a
// message of harness or plugin: the initiator comment, one reminder block, or
// what a directive or warning opens (spec transform §18).
func IsInjectedOnly(text string) bool {
	text = trimJS(text[afterTags(text):])
	if text == initiatorComment {
		return true
	}
	for _, opening := range injectedOpenings {
		if strings.HasPrefix(text, opening) {
			return true
		}
	}
	// The shortest match: between two blocks somebody may have said something.
	at := reminder.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}
