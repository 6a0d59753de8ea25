package text

import "regexp"

// Either closing tag matches either opening tag, because models mix the two.
var inlineThinking = regexp.MustCompile(`(?s)<(?:thinking|think)>.*?</(?:thinking|think)>` + jsSpace + `*`)

// StripInlineThinking returns text without the thinking that a model wrote into its answer between <thinking> or
// <think> tags. It also removes the white space after the thinking. An unclosed tag stays.
func StripInlineThinking(text string) string { return inlineThinking.ReplaceAllLiteralString(text, "") }
