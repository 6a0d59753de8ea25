//go:build unix

package rpc

import "syscall"

// detached puts a process into a session of its own, where the signals of our
// terminal do not reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
