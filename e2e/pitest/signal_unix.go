//go:build unix

package pitest

import (
	"os/exec"
	"syscall"
)

// lead makes the command the leader of a new process group, so that killGroup reaches its tools.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the remaining processes of the command's process group. If there are none, that is no
// error.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
