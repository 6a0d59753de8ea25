//go:build unix

package daemon

import "syscall"

// In a new session (setsid), signals of this terminal, such as Ctrl-C, do not arrive.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
