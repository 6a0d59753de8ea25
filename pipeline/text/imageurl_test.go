package text

import (
	"strings"
	"testing"
)

func TestIsProcessableImage(t *testing.T) {
	url := func(units int, fill string) string {
		const head = "data:image/png;base64,"
		return head + strings.Repeat(fill, units-len(head))
	}
	for _, c := range []struct {
		mime, url string
		want      bool
	}{
		{"image/png", url(201, "A"), true},
		{"image/svg+xml", url(1<<20, "A"), true},
		{"image/png", url(200, "A"), false},
		{"image/png", url(200, "é"), false},
		{"image/png", url(201, "é"), true},
		{"image/png", url(111, "😀"), false}, // 22 units before the data, then two for each emoji
		{"image/png", url(112, "😀"), true},
		{"image/png", "https://" + strings.Repeat("a", 300), false},
		{"application/pdf", url(300, "A"), false},
		{"", url(300, "A"), false},
	} {
		if got := IsProcessableImage(c.mime, c.url); got != c.want {
			t.Errorf("IsProcessableImage(%q, %.30s… of %d bytes) = %v", c.mime, c.url, len(c.url), got)
		}
	}
}
