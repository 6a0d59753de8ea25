//go:build unix

package projectdocs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/magicctx/magicctx-host/internal/regular"
)

// A named pipe may have the name of a document, from the start or just before the document is opened. Opening a pipe
// that nobody writes to would block for ever.
func TestNamedPipeIsNotRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ARCHITECTURE.md")
	must(t, syscall.Mkfifo(path, 0o600))
	if docs := read(t, dir); len(docs.Files) > 0 || len(docs.Refused) != 1 || !errors.Is(docs.Refused[0], regular.ErrNotRegular) {
		t.Errorf("%+v", docs)
	}

	other := write(t, dir, "other", "harmless")
	seen, err := os.Lstat(other)
	must(t, err)
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	if _, err := readFile(root, "ARCHITECTURE.md", seen); !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("error %v", err)
	}
}
