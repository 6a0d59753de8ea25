package file

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Fixed bug: if `ulimit -v` left too little address space, the host crashed with the stack trace of a goroutine. Now
// the error names the limit and the remedy.
func TestLimitOfAddressSpaceIsNamed(t *testing.T) {
	const spare = 400 << 20 // enough for one connection and the runtime, but too little for all connections
	if dir := os.Getenv("MAGICCTX_TEST_LIMITED"); dir != "" {
		statm, err := os.ReadFile("/proc/self/statm")
		must(t, err)
		pages, err := strconv.ParseUint(strings.Fields(string(statm))[0], 10, 64)
		must(t, err)
		limit := pages*uint64(os.Getpagesize()) + spare
		must(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: limit, Max: limit}))
		_, err = openFile(t, dir)
		assertIs(t, err, syscall.ENOMEM)
		if !strings.Contains(err.Error(), "ulimit -v unlimited") {
			t.Errorf("no remedy in: %v", err)
		}
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), "MAGICCTX_TEST_LIMITED="+t.TempDir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
