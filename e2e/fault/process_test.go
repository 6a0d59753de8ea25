package fault

import (
	"os"
	"testing"
)

// Faults of the host's process, one after the other under one OpenCode that
// started when all was well.
func TestHostProcess(t *testing.T) {
	s := newScene(t)
	s.start()
	s.works()
	for _, fault := range []struct{ name, behaviour, cause string }{
		{"crash at start", "crash", "the scripted crash"},
		{"garbage", "garbage", "the host answers nonsense"},
		{"too new", "newer", "magicctx-host 9.0.0 speaks 9.0: update opencode-shim"},
		{"too old", "older", "magicctx-host 0.4.0 speaks protocol 0.4, this plugin speaks 1: update magicctx-host"},
	} {
		s.in(t, fault.name, func() {
			s.be(fault.behaviour)
			s.stopHost()
			s.suffers(fault.cause, "magicctx-host doctor")
			s.be("real")
			s.recovers()
		})
	}
	s.in(t, "missing", func() {
		must(s.t, os.Rename(s.binary, s.binary+".away"))
		s.stopHost()
		s.suffers("MAGICCTX_HOST names "+s.binary, "not an executable file")
		must(s.t, os.Rename(s.binary+".away", s.binary))
		s.recovers()
	})
}

// in runs part of a scene as a test of its own.
func (s *scene) in(t *testing.T, name string, part func()) {
	t.Run(name, func(t *testing.T) {
		parent := s.t
		s.t = t
		defer func() { s.t = parent }()
		part()
	})
}
