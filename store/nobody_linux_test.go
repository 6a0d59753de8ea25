package store

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Tests in a container often run as root, and file modes do not apply to root. asNobody makes them apply: it drops the
// capabilities with which a thread ignores file modes. The user is still root, so root's files still belong to the
// user. The test's goroutine stays locked to the thread, so the thread ends with the test, and no other test gets it.
func asNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	must(t, unix.Capget(&header, &data[0]))
	data[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	must(t, unix.Capset(&header, &data[0]))
}
