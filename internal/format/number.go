package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Tokens formats a number of tokens in at most five columns, for example "999", "12.9k" and "4.1M".
func Tokens[N int | int64](n N) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(int64(n), 10)
	case n < 999_500:
		return scaled(float64(n)/1e3) + "k"
	}
	return scaled(float64(n)/1e6) + "M"
}

func scaled(x float64) string {
	if tenths := math.Round(x * 10); tenths < 1000 {
		return strconv.FormatFloat(tenths/10, 'f', -1, 64)
	}
	return fmt.Sprintf("%.0f", x)
}

// The result is, for example, "1,234,567".
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes formats a size in powers of 1024, for example "13 MB".
func Bytes(n int64) string {
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

// Money formats an amount. If x is at least $0.001, the result has two or more significant digits: "$0.0012",
// "$1.23", "$123".
func Money(x float64) string {
	switch {
	case x == 0:
		return "$0"
	case x >= 100:
		return fmt.Sprintf("$%.0f", x)
	case x >= 0.0995:
		return fmt.Sprintf("$%.2f", x)
	case x >= 0.00995:
		return fmt.Sprintf("$%.3f", x)
	case x >= 0.00005:
		return fmt.Sprintf("$%.4f", x)
	}
	return "<$0.0001"
}

// Dollars formats an estimate for a sentence, for example "$1.23", "-$0.04" and "less than $0.01".
func Dollars(x float64) string {
	switch {
	case x < 0:
		return "-" + strings.TrimPrefix(Dollars(-x), "less than ")
	case x == 0:
		return "$0"
	case x < 0.01:
		return "less than $0.01"
	case x >= 100:
		return fmt.Sprintf("$%.0f", x)
	}
	return fmt.Sprintf("$%.2f", x)
}

// AboutDollars formats an estimate for a sentence, for example "about $1.23" and "less than $0.01".
func AboutDollars(x float64) string {
	if text := Dollars(x); strings.HasPrefix(text, "less") {
		return text
	}
	return "about " + Dollars(x)
}

// Saving formats a saved amount, for example "saved about $1.20". A negative amount is a cost: "cost about $0.07
// more so far".
func Saving(x float64) string {
	if x < 0 {
		return "cost " + AboutDollars(-x) + " more so far"
	}
	return "saved " + AboutDollars(x)
}

// Percent formats a share in whole percent, for example "93%".
func Percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// FinePercent formats a share with one decimal, for example "93.4%". It is for shares that differ only a little.
func FinePercent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// Progress says how far a run has come, for example "messages 1-23, up to 12 done". `done` is the newest message with a
// result, or 0.
func Progress(first, last, done int) string {
	text := fmt.Sprintf("messages %d-%d", first, last)
	if done < first {
		return text + ", none done yet"
	}
	return text + fmt.Sprintf(", up to %d done", done)
}

// Count formats a number with its noun, for example "1 session" and "2 summaries".
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Plural(n, noun) }

// InARow says how often something happened in a row, and when it happened last, for example "once, 5m ago" or "3 times
// in a row, last 5m ago". `when` may be empty.
func InARow(n int, when string) string {
	text, last := Count(n, "time")+" in a row", ", last "
	if n == 1 {
		text, last = "once", ", "
	}
	if when == "" {
		return text
	}
	return text + last + when
}

// Plural returns the form of the noun that goes with the number n: "bust" for 1, "busts" for 0 and 2.
func Plural(n int, noun string) string {
	stem, endsInRY := strings.CutSuffix(noun, "ry")
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"):
		return noun + "es"
	case endsInRY:
		return stem + "ries"
	}
	return noun + "s"
}

// Piece describes a piece by its tag, its kind and its file or command, for example "§12§ read src/main.go" or "§13§
// text".
func Piece(tag int, kind, about string) string {
	text := fmt.Sprintf("§%d§ %s", tag, Clean(kind))
	if about != "" {
		text += " " + Clean(about)
	}
	return text
}
