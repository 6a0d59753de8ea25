package dream

import (
	"errors"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/clock"
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

// After a run that has used up its time, the next run waits 12 hours. After a run that has used up its budget, it waits
// until midnight. After any other failure, it waits one hour.
func TestFailedRunIsTriedAgain(t *testing.T) {
	now := time.Date(2026, 11, 16, 13, 0, 0, 0, time.UTC)
	d := New(Options{Clock: clock.NewManual(now.UnixMilli()), Zone: time.UTC})
	for _, test := range []struct {
		err  error
		want time.Time
	}{
		{errRuntime, now.Add(apart)},
		{&ask.Error{Kind: ask.OverBudget}, now.Add(11 * time.Hour)},
		{errors.New("401 unauthorized"), now.Add(retryAfter)},
		{nil, now.Add(retryAfter)}, // only some tasks have failed
	} {
		if got := time.UnixMilli(d.retry(test.err)).UTC(); !got.Equal(test.want) {
			t.Errorf("%v: again at %v, want %v", test.err, got, test.want)
		}
	}
}
