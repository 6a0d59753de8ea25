package fault

import (
	"os"
	"slices"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/schema"
)

// All faults happen in one OpenCode process, one after the other. No fault depends on an earlier one.
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

// The host's program is missing when the harness starts. So the shim registers the tools and commands that the last
// host had. Later, the program is installed again, and then everything must work.
func TestMissingAtStart(t *testing.T) { testMissingAtStart(t, schema.HarnessOpenCode) }

func TestPiMissingAtStart(t *testing.T) { testMissingAtStart(t, schema.HarnessPi) }

func testMissingAtStart(t *testing.T, h schema.Harness) {
	s := newScene(t, h)
	s.start()
	s.works()
	s.restart(func() { must(t, os.Remove(s.binary)) })
	if h != schema.HarnessPi { // OpenCode loads the shim before the first prompt, and the shim's first notice does not count
		s.forgetNotices()
	}
	s.endures()
	s.told("MAGICCTX_HOST names "+s.binary, "It resumes by itself")
	s.toolSays("magicctx is not working now")
	s.install()
	s.recovers()
}

// The shims of OpenCode and Pi have different code for these faults, so both harnesses always play them. OpenCode plays
// the other faults only with -all.
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
