package fault

import (
	"os"
	"testing"
)

// All faults, one after the other under one OpenCode that started when all was
// well: none needs another one to be over.
func TestFaults(t *testing.T) {
	s := newScene(t)
	s.start()
	s.works()
	s.isWell()
	s.processFaults()
	s.storeFaults()
	s.diskFaults()
	s.socketFaults()
	s.isWell()
}

// A host that is not there when OpenCode starts leaves nothing behind when it
// comes: tools and commands are those of its last life.
func TestMissingAtStart(t *testing.T) {
	s := newScene(t)
	s.start()
	s.works()
	s.restart(func() { must(t, os.Remove(s.binary)) })
	s.suffers("MAGICCTX_HOST names "+s.binary, "it resumes by itself")
	s.toolSays("magicctx is not working now")
	s.install()
	s.recovers()
}

// in runs part of a test as one of its own.
func (s *scene) in(name string, part func()) {
	whole := s.t
	s.t.Run(name, func(t *testing.T) {
		s.t = t
		defer func() { s.t = whole }()
		part()
	})
}
