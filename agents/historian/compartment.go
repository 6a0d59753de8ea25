package historian

import "strings"

const (
	defaultImportance = 50
	minImportance     = 1
	maxImportance     = 100
)

func normalise(text string) string { return oneLine(strings.ToLower(text)) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
