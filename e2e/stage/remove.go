package stage

import (
	"os"
	"time"
)

// RemoveAll tries for ten seconds to remove a directory, because a process that OpenCode has started, for example git,
// may still create files in it.
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
