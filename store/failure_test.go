package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

func TestFullDiskIsReportedAndLosesNothing(t *testing.T) {
	s := openIn(t, t.TempDir())
	ctx := t.Context()
	must(t, s.CommitPass(ctx, commit(key, 1)))
	var pages int
	must(t, s.Writer().QueryRow(`PRAGMA page_count`).Scan(&pages))
	var limit int
	must(t, s.Writer().QueryRow(`PRAGMA max_page_count = 1`).Scan(&limit)) // SQLite does not lower the limit below the current size
	if limit != pages {
		t.Fatalf("limit is %d pages, want %d", limit, pages)
	}

	big := commit(key, 2)
	big.Edits = []EditRow{{Tag: 3, Kind: "drop", Payload: strings.Repeat("x", 100_000)}}
	assertIs(t, s.CommitPass(ctx, big), ErrCannotPersist)
	if got := load(t, s, key).Session.Passes; got != 1 {
		t.Errorf("%d passes are stored, want 1", got)
	}

	must(t, s.Writer().QueryRow(`PRAGMA max_page_count = 100000`).Scan(&limit))
	must(t, s.CommitPass(ctx, big))
	if got := load(t, s, key).Session.Passes; got != 2 {
		t.Errorf("%d passes are stored once there is room, want 2", got)
	}
}

func TestReadOnlyPlacesAreReported(t *testing.T) {
	t.Run("new directory", func(t *testing.T) {
		asNobody(t)
		parent := readOnly(t, t.TempDir())
		_, err := Open(t.Context(), options(filepath.Join(parent, "store")))
		assertIs(t, err, ErrCannotPersist)
	})
	t.Run("empty directory", func(t *testing.T) {
		asNobody(t)
		_, err := Open(t.Context(), options(readOnly(t, t.TempDir())))
		assertIs(t, err, ErrCannotPersist)
	})
	t.Run("existing database", func(t *testing.T) {
		asNobody(t)
		dir := t.TempDir()
		must(t, openIn(t, dir).Close())
		_, err := Open(t.Context(), options(readOnly(t, dir)))
		assertIs(t, err, ErrCannotPersist)
	})
}

func readOnly(t *testing.T, dir string) string {
	t.Helper()
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	return dir
}

func TestPathsThatAreNoFilesAreReported(t *testing.T) {
	t.Run("directory is a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(file, nil, 0o600))
		_, err := Open(t.Context(), options(file))
		assertIs(t, err, ErrCannotPersist)
	})
	t.Run("no directory", func(t *testing.T) {
		if _, err := Open(t.Context(), options("")); err == nil {
			t.Error("opened without a directory")
		}
	})
}

// otherProgram opens the database of s as a backup program or a shell would.
func otherProgram(t *testing.T, s *Store) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.Open(s.Path())
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	return conn
}

func TestLockOfAnotherProgramDelaysWritesOnly(t *testing.T) {
	s := openIn(t, t.TempDir())
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	other := otherProgram(t, s)
	must(t, other.Exec(`BEGIN IMMEDIATE`))

	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { done <- s.CommitPass(ctx, commit(key, 2)) }()
	if got := load(t, s, key).Session.Passes; got != 1 { // reads still work
		t.Errorf("%d passes", got)
	}
	cancel(nil)
	err := <-done
	assertIs(t, err, context.Canceled)

	must(t, other.Exec(`ROLLBACK`))
	must(t, s.CommitPass(t.Context(), commit(key, 2)))
}

func TestBusyIsReported(t *testing.T) {
	s := openIn(t, t.TempDir())
	_, err := s.Writer().Exec(`PRAGMA busy_timeout = 0`)
	must(t, err)
	other := otherProgram(t, s)
	must(t, other.Exec(`BEGIN IMMEDIATE`))
	err = s.CommitPass(t.Context(), commit(key, 1))
	assertIs(t, err, ErrBusy)
	if errors.Is(err, ErrCannotPersist) {
		t.Errorf("busy is no failure of the disk: %v", err)
	}
	must(t, other.Exec(`ROLLBACK`))
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
}
