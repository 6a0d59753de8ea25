package pitest

import (
	"os"
	"os/exec"
)

// Windows has no signal that asks a process to end.
var terminate = os.Kill

func lead(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
