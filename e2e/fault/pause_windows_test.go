package fault

import (
	"os"
	"testing"
)

// pause is not possible: Windows has no signal for it.
func pause(t *testing.T, _ *os.Process) (resume func()) {
	t.Skip("Windows cannot pause a process")
	return nil
}
