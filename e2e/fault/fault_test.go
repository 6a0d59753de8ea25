package fault

import (
	"os"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// All faults happen one after the other in one OpenCode, which started without a fault. No fault depends on an
// earlier one.
func TestFaults(t *testing.T) { testFaults(t, schema.HarnessOpenCode) }

func TestPiFaults(t *testing.T) { testFaults(t, schema.HarnessPi) }

func testFaults(t *testing.T, h schema.Harness) {
	s := newScene(t, h)
	s.start()
	s.works()
	s.isWell()
	s.processFaults()
	s.storeFaults()
	s.diskFaults()
	s.socketFaults()
	s.isWell()
}

// The host is missing when OpenCode starts. The tools and commands then are those that the last host
// registered. When the host appears, nothing of the fault remains.
func TestMissingAtStart(t *testing.T) { testMissingAtStart(t, schema.HarnessOpenCode) }

func TestPiMissingAtStart(t *testing.T) { testMissingAtStart(t, schema.HarnessPi) }

func testMissingAtStart(t *testing.T, h schema.Harness) {
	s := newScene(t, h)
	s.start()
	s.works()
	s.restart(func() { must(t, os.Remove(s.binary)) })
	if h != schema.HarnessPi { // this loads the shim, which finds no host before the first prompt
		s.forgetNotices()
	}
	s.endures()
	s.told("MAGICCTX_HOST names "+s.binary, "It resumes by itself")
	s.toolSays("magicctx is not working now")
	s.install()
	s.recovers()
}

// Each shim reacts differently to these faults: a host that does not run, does not answer, has no store or a
// new one, or cannot be reached. Without -all, only Pi plays the other faults.
var inBoth = []string{
	"crash at start", "missing", "hanging in the middle of its life", "locked by another host",
	"corrupt in the middle of its life", "no place for the socket",
}

func (s *scene) in(name string, part func()) {
	whole := s.t
	s.t.Run(name, func(t *testing.T) {
		if s.harness == schema.HarnessOpenCode && !slices.Contains(inBoth, name) {
			suite.OnlyWithAll(t, "Pi has this fault")
		}
		s.t = t
		defer func() { s.t = whole }()
		part()
	})
}
