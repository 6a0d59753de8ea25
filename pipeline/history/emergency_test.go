package history

import "testing"

func TestScale(t *testing.T) {
	for usage, want := range map[float64]float64{0: 1, 79.9: 1, 80: 0.5, 94.9: 0.5, 95: 0.25, 120: 0.25} {
		if got := Scale(usage); got != want {
			t.Errorf("Scale(%v) = %v, want %v", usage, got, want)
		}
	}
}

func TestUrgency(t *testing.T) {
	for _, c := range []struct {
		usage    float64
		failures int
		recovery Recovery
		want     Urgency
	}{
		{usage: 84.9, want: InBackground},
		{usage: 85, want: ShowAtOnce},
		{usage: 94.9, failures: 3, want: ShowAtOnce},
		{usage: 95, want: Await},
		{usage: 95, failures: 1, want: Refuse},
		{usage: 95, failures: 1, recovery: Recovery{Armed: true, NoHead: 2}, want: Await},
	} {
		if got := UrgencyOf(c.usage, c.failures, c.recovery); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
	if KeepsFailures(89.9) || !KeepsFailures(90) {
		t.Error("failures are forgotten below 90 % only")
	}
}

// A refused prompt is an emergency until history is published, or until two passes have
// found nothing to summarise.
func TestRecovery(t *testing.T) {
	r := Recovery{}.Refused()
	if got := r.Usage(40); got != 95 {
		t.Errorf("refused: usage %v, want 95", got)
	}
	if got := r.Usage(99); got != 99 {
		t.Errorf("refused at 99 %%: usage %v", got)
	}
	once := r.NothingToSummarise(95)
	if got := once.Usage(40); got != 95 || once.GaveUp() {
		t.Errorf("after one empty pass: usage %v, %+v", got, once)
	}
	twice := once.NothingToSummarise(95)
	if got := twice.Usage(40); got != 40 || !twice.GaveUp() {
		t.Errorf("after two empty passes: usage %v, %+v", got, twice)
	}
	if got := twice.Refused().Usage(40); got != 40 {
		t.Errorf("refused again with nothing to summarise: usage %v", got)
	}
	for name, over := range map[string]Recovery{
		"published":                  twice.Published(),
		"nothing eligible, no need":  r.NothingToSummarise(79),
		"calm, and nothing was sent": Recovery{NoHead: 2}.Calm(50),
	} {
		if over != (Recovery{}) {
			t.Errorf("%s: %+v", name, over)
		}
	}
	if got := once.Calm(50); got != once {
		t.Errorf("a calm pass must not end a recovery: %+v", got)
	}
}

func TestLevelOf(t *testing.T) {
	for usage, want := range map[float64]Level{0: 0, 62.9: 0, 63: 1, 79.9: 1, 80: 2, 120: 2} {
		if got := LevelOf(usage, 65); got != want {
			t.Errorf("a usage of %v at a threshold of 65 has level %d, want %d", usage, got, want)
		}
	}
}
