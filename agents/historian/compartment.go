package historian

import "strings"

const (
	defaultImportance = 50
	minImportance     = 1
	maxImportance     = 100
)

// normalise returns a text in lower case, with single blanks between words.
func normalise(text string) string { return oneLine(strings.ToLower(text)) }

// oneLine returns a text with single blanks between words.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
