package rpc

import "syscall"

const detachedProcess = 0x00000008 // DETACHED_PROCESS: no console

// detached puts a process into a group of its own, without our console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
