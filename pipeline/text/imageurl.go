package text

import (
	"strings"
	"unicode/utf16"
)

// A data URL of at most imageURLUnits UTF-16 units is too short to be worth removing.
const imageURLUnits = 200

// IsProcessableImage reports whether a file part carries its image within its URL. The image may be removed after the
// model's answer.
func IsProcessableImage(mime, url string) bool {
	return strings.HasPrefix(mime, "image/") && strings.HasPrefix(url, "data:") && exceedsUTF16(url, imageURLUnits)
}

// exceedsUTF16 stops reading at the limit, because an image may be megabytes long.
func exceedsUTF16(s string, limit int) bool {
	if len(s) <= limit {
		return false // each unit takes at least one byte
	}
	for _, r := range s {
		if limit -= max(utf16.RuneLen(r), 1); limit < 0 {
			return true
		}
	}
	return false
}
