package store

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// asNobody removes root's power over file modes for the rest of this test,
// because tests in a container often run as root. The identity for file access
// belongs to the thread. The test's goroutine stays locked to its thread, so
// the thread ends with the goroutine.
func asNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0) // returns the previous id and never an error
}
