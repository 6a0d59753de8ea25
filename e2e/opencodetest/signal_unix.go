//go:build unix

package opencodetest

import "syscall"

// SIGTERM ends OpenCode in less than 0.1 s. Its children then read end of file.
const terminate = syscall.SIGTERM
