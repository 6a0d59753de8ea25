package regular

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A repository may contain a link to /proc/self/pagemap. This file has size 0 but never ends, so reading it would fill
// the memory (project H9 in docs/defects.md). The test uses /proc/self/status instead, so that a failure is harmless.
func TestHostileCloneKernelFilesAreEmpty(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc/self/status", link); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(link, 1<<20); len(got) != 0 || err != nil {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

func TestNamedPipeIsNotRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(pipe, 1<<20); !errors.Is(err, ErrNotRegular) {
		t.Errorf("the error is %v", err)
	}
}
