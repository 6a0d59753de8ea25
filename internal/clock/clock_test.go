package clock_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/clock"
)

func TestShiftedFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clock")
	shifted := clock.Shifted{Path: path}
	offset := func() time.Duration {
		d := time.Duration(shifted.Now()-clock.System{}.Now()) * time.Millisecond
		return d.Round(time.Minute)
	}
	if got := offset(); got != 0 {
		t.Errorf("without its file the clock is shifted by %v", got)
	}
	for text, want := range map[string]time.Duration{"600000": 10 * time.Minute, "3600000\n": time.Hour, "soon": 0, "": 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := offset(); got != want {
			t.Errorf("%q shifts the clock by %v, want %v", text, got, want)
		}
	}
}
