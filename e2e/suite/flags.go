package suite

import (
	"flag"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/pitest"
)

// Each package whose tests start a harness has these flags:
//
//	go test ./e2e ./e2e/fault ./e2e/skew -args -all -pi=0.74
var (
	all       = flag.Bool("all", false, "play every session in both harnesses and both dialects, at its full length, and check that a harness repeats itself (minutes)")
	piVersion = flag.String("pi", string(pitest.V087), "version of Pi for the tests: 0.87 or 0.74")
)

// All reports whether all sessions are played at full length, in both harnesses and with both kinds of API (dialects).
func All() bool { return *all }

func Pi() pitest.Version { return pitest.Version(*piVersion) }

// OnlyWithAll skips a test unless the flag -all is set. A test calls it if other tests make it mostly redundant.
// `reason` says why, for example "Pi has this test".
func OnlyWithAll(t *testing.T, reason string) {
	t.Helper()
	if !All() {
		t.Skip(reason + "; -all runs this one, too")
	}
}
