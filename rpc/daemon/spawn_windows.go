package daemon

import "syscall"

const detachedProcess = 0x00000008 // DETACHED_PROCESS, which gives the process no console

// detached starts a process in a new process group and without our console, so
// that Ctrl-C does not reach it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
