//go:build unix

package opencode2_test

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

func init() {
	troubles = append([]play{{"an interrupt in a pass", playInterruptInPass}}, troubles...)
}

// OpenCode does not wait for the hook of an interrupted turn. So the next hook begins while the first is still running.
func playInterruptInPass(w *world) {
	s := w.session(large)
	w.say(s, "first", calls(mockllm.Text("I look."), read("c1", "a.txt")), mockllm.Say("One."))
	status, err := w.user.Status(w.ctx)
	check(w.t, err)
	host, err := os.FindProcess(status.PID)
	check(w.t, errors.Join(err, host.Signal(syscall.SIGSTOP)))
	err = s.Send(w.ctx, "second", nil)
	time.Sleep(300 * time.Millisecond) // the hook has called the host
	w.mock.Enqueue(mockllm.Say("Two."))
	err = errors.Join(err, s.Interrupt(w.ctx), s.Wait(w.ctx), s.Send(w.ctx, "third", nil), host.Signal(syscall.SIGCONT))
	check(w.t, errors.Join(err, s.Wait(w.ctx)))
	requests := w.requests(s)
	if len(requests) != 3 {
		w.t.Errorf("%d requests, want 3: the interrupted turn has none", len(requests))
	}
	w.wants(w.newest(s), "§1§ first", "alpha", "second", "third")
	w.wholeArcs(w.newest(s))
	w.extends(requests[1:]) // the first request of a directory may lack our tools
	if st := w.status(s); st.Busts != 0 {
		w.t.Errorf("%d busts, want none", st.Busts)
	}
}
