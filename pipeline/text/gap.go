package text

import (
	"math"
	"regexp"
	"strconv"
)

const (
	// minGap is the shortest gap that is worth a marker, in seconds.
	minGap = 300

	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	week   = 7 * day
)

var gapMarker = regexp.MustCompile(`^<!-- \+\d+[mhdw](?: \d+[mhdw])? -->\n`)

// Gap returns the length of a pause, rounded down, in at most two units: "+2h 15m". Below five minutes it returns "".
// It also returns "" for an impossible value, for example a negative one after the clock was set back.
func Gap(seconds float64) string {
	if !(seconds >= minGap) || seconds > math.MaxInt64/2 { // !(≥) is true for NaN, < is not
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

func units(s, large int64, largeName string, small int64, smallName string) string {
	text := strconv.FormatInt(s/large, 10) + largeName
	if small == 0 || s%large < small {
		return text
	}
	return text + " " + strconv.FormatInt(s%large/small, 10) + smallName
}

// GapMarker returns the line that tells the model about a pause, for example "<!-- +2h 15m -->\n". If Gap returns "",
// GapMarker returns "", too.
func GapMarker(seconds float64) string {
	gap := Gap(seconds)
	if gap == "" {
		return ""
	}
	return "<!-- " + gap + " -->\n"
}

// StartsWithGap reports whether text starts with a marker of GapMarker.
func StartsWithGap(text string) bool { return gapMarker.MatchString(text) }
