package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// clean makes text of others safe to show: a directory may be named anything,
// and an escape sequence must not reach the terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// columns is how many columns of a terminal s takes, after clean.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// wide are the ranges of Unicode's East Asian Width "wide" that names of
// directories come from: CJK, Hangul, full width forms, emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1f9ff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// left returns s in exactly n columns, cut at its end.
func left(s string, n int) string {
	s = cut(s, n)
	return s + strings.Repeat(" ", max(0, n-columns(s)))
}

// right returns s in exactly n columns, at the right.
func right(s string, n int) string {
	s = cut(s, n)
	return strings.Repeat(" ", max(0, n-columns(s))) + s
}

// cut returns s in at most n columns, with an ellipsis where something is missing.
func cut(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += runeColumns(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// tail is cut, but keeps the end: of a path or an id that is what tells it apart.
func tail(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	runes := []rune(s)
	used, first := 0, len(runes)
	for first > 0 && used+runeColumns(runes[first-1]) <= n-1 {
		first--
		used += runeColumns(runes[first])
	}
	return "…" + string(runes[first:])
}

// eighths are the blocks that fill a cell from its left.
var eighths = []rune(" ▏▎▍▌▋▊▉")

// bar draws share, 0..1 and beyond, n cells wide.
func bar(share float64, n int) string {
	full := max(0, min(int(share*float64(n)*8+0.5), n*8))
	s := strings.Repeat("█", full/8)
	if full%8 > 0 {
		s += string(eighths[full%8])
	}
	return s
}

// tokenCount writes a number of tokens in at most five columns.
func tokenCount(n int64) string {
	switch {
	case n >= 999_500:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.0fK", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// byteCount writes a size; the units are powers of 1024.
func byteCount(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GB", float64(n)/(1<<30))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%.0f MB", float64(n)/(1<<20))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KB", (n+1023)>>10)
}

// ago writes how long before now a Unix time in ms was, in at most six columns.
func ago(ms int64, now time.Time) string {
	if ms == 0 {
		return "-"
	}
	return lasted(now.Sub(time.UnixMilli(ms)))
}

func lasted(d time.Duration) string {
	d = max(d, 0)
	switch minutes, hours := int(d.Minutes()), int(d.Hours()); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case hours == 0:
		return fmt.Sprintf("%dm", minutes)
	case hours < 24:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
