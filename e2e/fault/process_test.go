package fault

import "os"

func (s *scene) processFaults() {
	named := "MAGICCTX_HOST names " + s.binary + ", which "
	for _, fault := range []struct{ name, behaviour, cause, why string }{
		{"crash at start", "crash", "the scripted crash", "cannot say its version: exit status 1: magicctx-host: the scripted crash"},
		{"garbage", "garbage", "the host sent bytes that are not the protocol", "prints no version"},
		{"too new", "newer", "magicctx-host 9.0.0 speaks 9.0: update opencode-shim", "is version 9.0.0"},
		{"too old", "older", "magicctx-host 0.4.0 speaks protocol 0.4, this plugin speaks 1: update magicctx-host", "is version 0.4.0"},
		{"hanging at start", "hang", "the host has started, but does not answer", "does not answer"},
	} {
		s.in(fault.name, func() {
			s.be(fault.behaviour)
			s.stopHost()
			s.meanwhile(func() { s.suffers(fault.cause, "magicctx-host doctor") }, named+fault.why, "program: "+named+fault.why)
			s.be("real")
			if fault.behaviour == "hang" {
				s.endHanging()
			}
			s.recovers()
		})
	}
	s.in("missing", func() {
		must(s.t, os.Rename(s.binary, s.binary+".away"))
		s.stopHost()
		s.suffers(named + "is not an executable file")
		s.explained(named+"is not an executable file", "program: "+named+"is not an executable file")
		must(s.t, os.Rename(s.binary+".away", s.binary))
		s.recovers()
	})
	s.in("hanging in the middle of its life", func() {
		status, err := s.user.Status(s.ctx)
		must(s.t, err)
		host, err := os.FindProcess(status.PID)
		must(s.t, err)
		resume := pause(s.t, host)
		s.suffers("the host did not answer in time")
		// This check comes after the prompt, because on a busy machine the last thread of the paused host may still run
		// for a while, and answer.
		s.explained("does not answer", "host: the running host does not answer")
		resume()
		_, err = s.user.Status(s.ctx) // when this call is answered, the host has handled all earlier calls
		must(s.t, err)
		s.recovers()
	})
}
