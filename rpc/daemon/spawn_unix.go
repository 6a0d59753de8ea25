//go:build unix

package daemon

import "syscall"

// In a new session (setsid), the program does not get signals of this terminal, such as Ctrl-C.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
