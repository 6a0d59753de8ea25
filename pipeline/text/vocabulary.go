package text

import "regexp"

// Plugins write these words into conversations. A plugin uses the same words in every harness, so there is one list for
// all harnesses.

const (
	initiatorComment  = "<!-- OMO_INTERNAL_INITIATOR -->"
	orchestratorOpens = "[SYSTEM DIRECTIVE: OH-MY-OPENCODE"
	ourDirectiveOpens = "[SYSTEM DIRECTIVE: MAGIC-CONTEXT"
)

// A paragraph that begins with one of the paragraphMarkers was added by a plugin.
var paragraphMarkers = []string{
	"[Category+Skill Reminder]",
	"[EDIT ERROR - IMMEDIATE ACTION REQUIRED]",
	"[task CALL FAILED - IMMEDIATE RETRY REQUIRED]",
	"[EMERGENCY CONTEXT WINDOW WARNING]",
	"Unstable background agent appears idle",
	"**THE SUBAGENT JUST CLAIMED THIS TASK IS DONE.",
}

// injectedOpenings open messages that a plugin wrote as a whole.
var injectedOpenings = []string{
	"[SYSTEM DIRECTIVE:",
	"[Category+Skill Reminder]",
	"[EDIT ERROR - IMMEDIATE ACTION REQUIRED]",
	"[task CALL FAILED",
	"[EMERGENCY CONTEXT WINDOW WARNING]",
}

var directive = regexp.MustCompile(`\[SYSTEM DIRECTIVE: OH-MY-(?:OPENCODE|CLAUDE)[^\]\n]*\]?`)
