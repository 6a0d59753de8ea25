package stage

import "os"

// Windows does not find a dead process.
func isAlive(p *os.Process) bool {
	found, err := os.FindProcess(p.Pid)
	if err != nil {
		return false
	}
	_ = found.Release()
	return true
}
