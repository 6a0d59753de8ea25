package stage

import "os"

// isAlive reports whether a process exists: on Windows a dead one is not found.
func isAlive(p *os.Process) bool {
	found, err := os.FindProcess(p.Pid)
	if err != nil {
		return false
	}
	_ = found.Release()
	return true
}
