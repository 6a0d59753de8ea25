//go:build unix

package opencodetest

import "syscall"

// After SIGTERM, OpenCode ends in less than 0.1 s, and its child processes read end of file.
const terminate = syscall.SIGTERM
