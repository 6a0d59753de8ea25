//go:build unix

package file

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not return", what)
		return nil
	}
}

// Fixed bug: with a named pipe in place of one of the host's files, the start hung, because opening a pipe blocks
// until another program opens its other end.
func TestB9NamedPipeHangsNoStart(t *testing.T) {
	for _, name := range []string{
		fileName, lockName, fileName + "-wal", fileName + "-shm", fileName + "-journal", fileName + ".suspect",
		fileName + ".waiting-00", fileName + ".v1.bak.partial",
	} {
		dir := t.TempDir()
		must(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		err := within(t, "Open with the pipe "+name, func() error {
			f, err := openFile(t, dir)
			if err == nil {
				f.Close()
			}
			return err
		})
		assertIs(t, err, ErrForeign)
	}
}

// doctor reads the same files, so a named pipe must not block doctor either.
func TestB9NamedPipeHangsNoExamination(t *testing.T) {
	for _, name := range []string{fileName, fileName + "-wal", fileName + "-shm", fileName + "-journal"} {
		dir := t.TempDir()
		openIn(t, dir)
		must(t, os.RemoveAll(filepath.Join(dir, name)))
		must(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		err := within(t, "Examine with the pipe "+name, func() error {
			_, err := Examine(t.Context(), dir)
			return err
		})
		assertIs(t, err, ErrForeign)
	}
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, lockName), 0o600))
	err := within(t, "LastOwner with a pipe", func() error {
		if pid := LastOwner(dir); pid != 0 {
			t.Errorf("the pipe names process %d", pid)
		}
		return nil
	})
	must(t, err)
}

// The owner of the directory can replace its files.
func TestB9DirectoryOfAnotherUserIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(dir, 0o777))
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Skipf("only root can give a directory away: %v", err)
	}
	_, err := openFile(t, dir)
	assertIs(t, err, ErrNotOurs)
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("the directory of somebody else now holds %v", entries)
	}

	link := filepath.Join(t.TempDir(), "link") // people may link their data directory to another place
	must(t, os.Symlink(dir, link))
	_, err = openFile(t, link)
	assertIs(t, err, ErrNotOurs)
}
