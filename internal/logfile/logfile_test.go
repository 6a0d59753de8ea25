package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFullLogIsMovedAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.log")
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", maxBytes/4-1) + "\n")
	for range 9 { // enough lines for two full files and one more
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{path: 1, path + ".1": 4} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Size()) / len(line); got != want {
			t.Errorf("%s has %d lines, want %d", filepath.Base(name), got, want)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %#o, want 0600", filepath.Base(name), mode)
		}
	}
	// Bytes that are in the file before Open count towards the limit.
	if log, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if log.size != int64(len(line)) {
		t.Errorf("an opened log has %d bytes, want %d", log.size, len(line))
	}
}
