package stage

import (
	"os"
	"time"
)

// RemoveAll removes a directory in which OpenCode or Pi has run. It tries for ten seconds, because a process that
// OpenCode started, for example git, may outlive it for a moment and write another file.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	for range 500 {
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
		err = os.RemoveAll(dir)
	}
	return err
}
