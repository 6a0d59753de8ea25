package fault

import (
	"os"
	"testing"
)

// Windows has no signal that pauses a process.
func pause(t *testing.T, _ *os.Process) (resume func()) {
	t.Skip("Windows cannot pause a process")
	return nil
}
