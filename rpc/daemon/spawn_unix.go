//go:build unix

package daemon

import "syscall"

// detached starts a process in a new session (setsid), so that signals of our
// terminal, such as Ctrl-C, do not reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
