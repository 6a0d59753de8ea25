package text

import (
	"strings"
	"unicode/utf16"
)

// A data URL of at most imageURLUnits UTF-16 units is not worth removing.
const imageURLUnits = 200

// IsProcessableImage reports whether the URL contains a large image, which may be removed after the model's answer.
func IsProcessableImage(mime, url string) bool {
	return strings.HasPrefix(mime, "image/") && strings.HasPrefix(url, "data:") && exceedsUTF16(url, imageURLUnits)
}

// exceedsUTF16 reports whether s has more than limit UTF-16 units. It reads no further than the limit, because an image
// may have megabytes.
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
