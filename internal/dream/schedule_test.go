package dream

import (
	"testing"
	"time"
)

func TestScheduleIsATimeOfDay(t *testing.T) {
	for _, test := range []struct {
		schedule, at string
		want         bool
	}{
		{"02:00-06:00", "01:59", false},
		{"02:00-06:00", "02:00", true},
		{"02:00-06:00", "05:59", true},
		{"02:00-06:00", "06:00", false},
		{"22:00-06:00", "21:59", false},
		{"22:00-06:00", "22:00", true},
		{"22:00-06:00", "00:00", true},
		{"22:00-06:00", "06:00", false},
		{"02:00-02:00", "02:00", false},
		{"", "00:00", false},
	} {
		at, err := time.Parse("15:04", test.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := isWithin(test.schedule, at); got != test.want {
			t.Errorf("%s in %q: %t", test.at, test.schedule, got)
		}
	}
}
