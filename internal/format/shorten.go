package format

import "unicode/utf8"

// Shorten returns text cut to at most limit bytes. It keeps whole characters, and appends a mark if it has
// cut something.
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
