//go:build unix

package checks

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A named pipe without a writer would block for ever.
func TestPipeIsNotRead(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	if got, err := test(root, chronicle.Check{Path: "pipe", Text: "x"}); err == nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
}
