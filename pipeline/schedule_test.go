package pipeline

import (
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/schema"
)

func TestSchedulerVectors(t *testing.T) {
	for _, c := range []struct {
		name    string
		percent float64
		last    int64
		ttl     time.Duration
		now     int64
		want    schema.Verdict
	}{
		{"brand-new session", 0, 0, 5 * time.Minute, 900_000_000, schema.Steady},
		{"just below the threshold", 64.9, 1000, 5 * time.Minute, 2000, schema.Steady},
		{"at the threshold", 65, 1000, 5 * time.Minute, 2000, schema.Soft},
		{"exactly at the TTL", 10, 1000, 5 * time.Minute, 301_000, schema.Steady},
		{"past the TTL", 10, 1000, 5 * time.Minute, 301_001, schema.Hard},
		{"longer TTL", 10, 1000, time.Hour, 301_001, schema.Steady},
		{"two seconds", 10, 1000, 2 * time.Second, 3001, schema.Hard},
		{"usage without response", 10, 0, 5 * time.Minute, 1_000_000_000, schema.Hard},
	} {
		got, cause := Schedule(Signals{Percent: c.percent, Threshold: 65, LastResponse: c.last, TTL: c.ttl, Now: c.now})
		if got != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.name, got, cause, c.want)
		}
	}
}

func TestMidTurnStaysStill(t *testing.T) {
	for _, c := range []struct {
		name                     string
		percent                  float64
		subagent, flush, midTurn bool
		want                     schema.Verdict
		cause                    Cause
	}{
		{"pressure mid-turn waits", 70, false, false, true, schema.Steady, CauseMidTurn},
		{"pressure at the boundary", 70, false, false, false, schema.Soft, CausePressure},
		{"force does not wait", 85, false, false, true, schema.Soft, CauseForce},
		{"a subagent does not wait", 70, true, false, true, schema.Soft, CausePressure},
		{"the user does not wait", 70, false, true, true, schema.Soft, CauseFlush},
		{"nor at the force level", 90, false, true, true, schema.Soft, CauseFlush},
	} {
		got, cause := Schedule(Signals{
			Percent: c.percent, Threshold: 65, Subagent: c.subagent, Flush: c.flush,
			MidTurn: c.midTurn, LastResponse: 1, Now: 2, TTL: time.Minute,
		})
		if got != c.want || cause != c.cause {
			t.Errorf("%s: got %s (%s), want %s (%s)", c.name, got, cause, c.want, c.cause)
		}
	}
}
