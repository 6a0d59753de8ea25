//go:build unix

package fault

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

func pause(t *testing.T, p *os.Process) (resume func()) {
	t.Helper()
	must(t, p.Signal(syscall.SIGSTOP))
	resume = sync.OnceFunc(func() {
		if err := p.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(resume)
	awaitStopped(t, p.Pid)
	return resume
}

// SIGSTOP stops a thread only when the kernel schedules it again. On a busy machine, the thread might still answer a
// call before that. So awaitStopped waits until all threads have stopped. If the system has no /proc, it returns at
// once.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		running := 0
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			stat, err := os.ReadFile(thread)
			if _, state, _ := bytes.Cut(stat, []byte(") ")); err == nil && !bytes.HasPrefix(state, []byte("T")) {
				running++
			}
		}
		if running == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d threads of process %d go on after SIGSTOP", running, len(threads), pid)
		}
	}
}
