package text

import (
	"math"
	"regexp"
	"strconv"
)

const (
	// minGap is the shortest gap that is worth a marker, in seconds (spec
	// transform §21).
	minGap = 300

	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	week   = 7 * day
)

var gapMarker = regexp.MustCompile(`^<!-- \+\d+[mhdw](?: \d+[mhdw])? -->\n`)

// Gap returns how long a user was away, in at most two units rounded down:
// "+2h 15m". It is empty below five minutes and for what is no duration, as of
// a clock that was set back (spec transform §21).
func Gap(seconds float64) string {
	if !(seconds >= minGap) || seconds > math.MaxInt64/2 { // NaN is not ≥
		return ""
	}
	s := int64(seconds)
	switch {
	case s < hour:
		return "+" + units(s, minute, "m", 0, "")
	case s < day:
		return "+" + units(s, hour, "h", minute, "m")
	case s < week:
		return "+" + units(s, day, "d", hour, "h")
	default:
		return "+" + units(s, week, "w", day, "d")
	}
}

// units writes s in a large unit and, if something of it is left, a small one.
func units(s, large int64, largeName string, small int64, smallName string) string {
	text := strconv.FormatInt(s/large, 10) + largeName
	if small == 0 || s%large < small {
		return text
	}
	return text + " " + strconv.FormatInt(s%large/small, 10) + smallName
}

// GapMarker returns the comment that tells the model of a gap, with its line
// end, or nothing if Gap returns nothing.
func GapMarker(seconds float64) string {
	gap := Gap(seconds)
	if gap == "" {
		return ""
	}
	return "<!-- " + gap + " -->\n"
}

// WithGap returns text with a marker of GapMarker before its body: tags that
// text starts with stay in front. A body that starts with a marker keeps that
// one, whatever it says (spec transform §21).
func WithGap(text, marker string) string {
	at := afterTags(text)
	if gapMarker.MatchString(text[at:]) {
		return text
	}
	return text[:at] + marker + text[at:]
}
