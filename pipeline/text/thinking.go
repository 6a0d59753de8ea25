package text

import "regexp"

// inlineThinking accepts each closing tag for each opening tag, because models mix <think> and <thinking>.
var inlineThinking = regexp.MustCompile(`(?s)<(?:thinking|think)>.*?</(?:thinking|think)>` + jsSpace + `*`)

// StripInlineThinking removes the thinking that a model wrote between <thinking> or <think> tags, and the white space
// after it. If a tag is not closed, the text does not change.
func StripInlineThinking(text string) string { return inlineThinking.ReplaceAllLiteralString(text, "") }
