//go:build unix

package opencodetest

import "syscall"

// SIGTERM ends OpenCode in less than 0.1 s. Its child processes, for example the bridge, then read end of file and end,
// too.
const terminate = syscall.SIGTERM
