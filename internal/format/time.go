package format

import (
	"fmt"
	"time"
)

// Age formats a duration in at most six columns, for example "12s", "5m",
// "3h12m" and "2d".
func Age(d time.Duration) string {
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

func AgeOf(ms int64, now time.Time) string {
	if ms == 0 {
		return "-"
	}
	return Age(now.Sub(time.UnixMilli(ms)))
}

// Span formats a duration for a sentence: "5 min", "1 h", "90 s".
func Span(d time.Duration) string {
	switch {
	case d > 0 && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	case d >= 2*time.Minute, d == time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
