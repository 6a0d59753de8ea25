package store

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// asNobody takes root's power over file modes from the rest of this test, for
// tests in a container. The identity for file access belongs to the thread,
// which ends with the test's goroutine because it stays locked to it.
func asNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0) // answers the old id, never an error
}
