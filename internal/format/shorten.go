package format

import "unicode/utf8"

// Shorten cuts `text` to at most `limit` bytes, between two characters, and marks the cut.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
