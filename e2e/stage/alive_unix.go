//go:build unix

package stage

import (
	"os"
	"syscall"
)

// isAlive reports whether a host is still running. Signal 0 also succeeds for a zombie, but an ended host does not stay
// a zombie, because init reaps it.
func isAlive(p *os.Process) bool { return p.Signal(syscall.Signal(0)) == nil }
