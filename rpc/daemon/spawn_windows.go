package daemon

import "syscall"

const detachedProcess = 0x00000008 // DETACHED_PROCESS, which gives the process no console

// The function `detached` starts the program in a new process group without this console, so that Ctrl-C does not end
// it.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
