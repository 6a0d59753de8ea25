package fault

import (
	"os"
	"testing"
)

// pause is not possible, because Windows has no signal for it.
func pause(t *testing.T, _ *os.Process) (resume func()) {
	t.Skip("Windows cannot pause a process")
	return nil
}
