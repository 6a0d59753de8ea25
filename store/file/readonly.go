package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// ErrMissing: there is no database yet.
var ErrMissing = errors.New("there is no database yet; the first session with magicctx creates it")

// View calls `read` with a snapshot of the database in dir, through a connection that cannot write. A host may be
// running. View returns ErrMissing, ErrForeign, ErrBusy, ErrOlderSchema or ErrNewerSchema, or the error of `read`.
func View(ctx context.Context, dir string, read func(*sqlite3.Conn) error) error {
	if testing.Testing() {
		if err := refuseReal(dir, os.TempDir(), os.Getenv); err != nil {
			return err
		}
	}
	path, answer := PathIn(dir), error(nil)
	err := checkReadable(path)
	if err == nil {
		err = ReadOnly(ctx, path, func(c *sqlite3.Conn) (err error) {
			defer c.Begin().End(&err)
			if err := checkVersion(c); err != nil {
				return err
			}
			answer = read(c)
			return answer
		})
	}
	return placed(ctx, "read", path, err, answer)
}

// The function `placed` adds the action and the path to an error. An error of the caller's function, for example "no
// such session", stays unchanged, because the file has not caused it.
func placed(ctx context.Context, action, path string, err, answer error) error {
	var code sqlite3.ErrorCode
	switch {
	case err == nil:
		return nil
	case answer != nil && !errors.As(answer, &code) && !errors.Is(answer, errCorrupt):
		return answer
	case errors.Is(err, ErrMissing):
		return fmt.Errorf("%w: %s", err, path)
	}
	return fmt.Errorf("%s %s: %w", action, path, explain(ctx, err))
}

// Edit calls `write` in one immediate transaction on the database in dir. A host may be running. Edit neither creates
// nor migrates a database. It returns the same errors as View.
func Edit(ctx context.Context, dir string, write func(*sqlite3.Conn) error) (err error) {
	if testing.Testing() {
		if err := refuseReal(dir, os.TempDir(), os.Getenv); err != nil {
			return err
		}
	}
	path, answer := PathIn(dir), error(nil)
	defer func() { err = placed(ctx, "change", path, err, answer) }()
	if err := checkReadable(path); err != nil {
		return err
	}
	return connect(ctx, path, sqlite3.OPEN_READWRITE, func(c *sqlite3.Conn) (err error) {
		tx, err := c.BeginImmediate()
		if err != nil {
			return err
		}
		defer tx.End(&err)
		if err := checkVersion(c); err != nil {
			return err
		}
		if _, err := removePlanted(c); err != nil {
			return err
		}
		answer = write(c)
		return answer
	})
}

func checkReadable(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := CheckFile(path + suffix); err != nil {
			return err
		}
	}
	missing, err := inspect(path)
	if err == nil && missing {
		err = ErrMissing
	}
	return err
}

func checkVersion(c *sqlite3.Conn) error {
	stored, newest := 0, newestVersion()
	if err := Scan(c, `PRAGMA user_version`, func(row *sqlite3.Stmt) { stored = row.ColumnInt(0) }); err != nil {
		return err
	}
	switch {
	case stored > newest:
		return newerSchema(stored, newest)
	case stored < newest:
		return olderSchema(stored, newest)
	}
	return nil
}

func olderSchema(stored, newest int) error {
	remedy := "start the harness, whose host brings it up to date"
	if 0 < stored && stored < firstVersion {
		remedy = "a build before the first release wrote it, so move the file away, with its -wal and -shm: the next session that starts creates an empty one"
	}
	return fmt.Errorf("%w: its schema is version %d, this program reads %d; %s", ErrOlderSchema, stored, newest, remedy)
}

func newerSchema(stored, newest int) error {
	return fmt.Errorf("%w: its schema is version %d, this host knows up to %d; update magicctx-host", ErrNewerSchema, stored, newest)
}
