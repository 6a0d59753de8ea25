package text

import (
	"strings"
	"unicode/utf16"
)

// imageURLUnits is the length in UTF-16 units that a data URL must exceed to be
// worth removing (spec transform §18).
const imageURLUnits = 200

// IsProcessableImage reports whether a file part carries an image itself, which
// may leave the wire once the model has answered to it (spec transform §18).
func IsProcessableImage(mime, url string) bool {
	return strings.HasPrefix(mime, "image/") && strings.HasPrefix(url, "data:") && exceedsUTF16(url, imageURLUnits)
}

// exceedsUTF16 reports whether s has more than limit UTF-16 units, without
// reading megabytes to find out.
func exceedsUTF16(s string, limit int) bool {
	if len(s) <= limit {
		return false // a unit takes one byte at least
	}
	for _, r := range s {
		if limit -= max(utf16.RuneLen(r), 1); limit < 0 {
			return true
		}
	}
	return false
}
