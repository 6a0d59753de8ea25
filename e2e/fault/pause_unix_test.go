//go:build unix

package fault

import (
	"os"
	"sync"
	"syscall"
	"testing"
)

// pause stops a process until the test calls resume or ends.
func pause(t *testing.T, p *os.Process) (resume func()) {
	t.Helper()
	must(t, p.Signal(syscall.SIGSTOP))
	resume = sync.OnceFunc(func() {
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(resume)
	return resume
}
