//go:build unix

package opencodetest

import "syscall"

// OpenCode dies by SIGTERM in less than 0.1 s; its children see end of file.
const terminate = syscall.SIGTERM
