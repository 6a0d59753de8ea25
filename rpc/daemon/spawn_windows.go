package daemon

import "syscall"

const detachedProcess = 0x00000008 // DETACHED_PROCESS, which gives the process no console

// In a new process group without this console, the program does not get Ctrl-C.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
