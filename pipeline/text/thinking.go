package text

import "regexp"

// Which tag closes does not matter: models mix the two.
var inlineThinking = regexp.MustCompile(`(?s)<(?:thinking|think)>.*?</(?:thinking|think)>` + jsSpace + `*`)

// StripInlineThinking returns text without the thinking that a model wrote into
// its answer between <thinking> or <think> tags, and without the white space
// after it (spec transform §18). An unclosed tag stays.
func StripInlineThinking(text string) string { return inlineThinking.ReplaceAllLiteralString(text, "") }
