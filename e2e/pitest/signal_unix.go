//go:build unix

package pitest

import (
	"os/exec"
	"syscall"
)

// lead makes the command the leader of a new process group, so killGroup also kills the tools that it runs.
func lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
