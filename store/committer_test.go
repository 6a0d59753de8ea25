package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// If this environment variable names a directory, the test binary acts as a host that commits passes there until it
// is killed.
const committerDir = "MAGICCTX_TEST_COMMITTER"

// commitForever prints the number of each pass after it has stored the pass.
func commitForever(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, options(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	first := 1
	if snap, found, err := s.Load(ctx, key); err == nil && found {
		first = snap.Session.Passes + 1
	}
	for n := first; ; n++ {
		if err := s.CommitPass(ctx, commit(key, n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(n)
	}
}

func startCommitter(t *testing.T, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(soon(t), self)
	cmd.Env = append(os.Environ(), committerDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func readAck(t *testing.T, lines *bufio.Scanner) (n int, ok bool) {
	t.Helper()
	if !lines.Scan() {
		return 0, false
	}
	n, err := strconv.Atoi(lines.Text())
	if err != nil {
		return 0, false // the kill cut off this line
	}
	return n, true
}

func TestKilledHostLosesNoAcknowledgedPass(t *testing.T) {
	dir := t.TempDir()
	acked := 0
	for _, more := range []int{1, 40, 700} { // the last count is large enough for a checkpoint
		cmd, lines := startCommitter(t, dir)
		for target := acked + more; acked < target; {
			n, ok := readAck(t, lines)
			if !ok {
				t.Fatalf("the committer stopped after pass %d", acked)
			}
			acked = n
		}
		must(t, cmd.Process.Kill())
		for n, ok := readAck(t, lines); ok; n, ok = readAck(t, lines) { // read the numbers that were still in the pipe
			acked = max(acked, n)
		}
		cmd.Wait()

		s := openIn(t, dir)
		if s.Recovered() != "" {
			t.Fatalf("the database was given up: %s", s.Recovered())
		}
		snap := load(t, s, key)
		passes, err := s.Reports.Passes(t.Context(), key, 0, 0)
		must(t, err)
		stored := snap.Session.Passes
		if stored < acked || stored > acked+1 {
			t.Errorf("%d passes stored, %d acknowledged", stored, acked)
		}
		if len(snap.Units) != 2*stored || len(passes) != stored {
			t.Errorf("%d passes have %d units and %d journal rows", stored, len(snap.Units), len(passes))
		}
		var check string
		must(t, s.Writer().QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&check))
		if check != "ok" {
			t.Errorf("integrity: %s", check)
		}
		must(t, s.Close())
		acked = stored
	}
}

func TestSecondHostIsRefusedWithItsReason(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := startCommitter(t, dir)
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	if _, ok := readAck(t, lines); !ok {
		t.Fatal("the committer did not start")
	}
	_, err := Open(t.Context(), options(dir))
	assertIs(t, err, ErrLocked)
	if pid := strconv.Itoa(cmd.Process.Pid); err != nil && !strings.Contains(err.Error(), "pid "+pid+",") {
		t.Errorf("error does not name pid %s: %v", pid, err)
	}
}
