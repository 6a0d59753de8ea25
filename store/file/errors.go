package file

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// Callers test for these errors with errors.Is.
var (
	// ErrLocked: another host owns the database. The message names the pid of that host.
	ErrLocked = errors.New("the database is in use by another host")
	// ErrNewerSchema: a newer host has migrated the database.
	ErrNewerSchema = errors.New("the database was written by a newer magicctx-host")
	// ErrOlderSchema: the schema is older than this release's. Usually, no host of this release has opened the database
	// yet. But an unreleased build may have written the database, and then no release can open it.
	ErrOlderSchema = errors.New("the database was written by an older magicctx-host")
	// ErrForeign: the file is an SQLite database of another program, or is not a regular file, for example a named
	// pipe.
	ErrForeign = errors.New("the database belongs to another program")
	// ErrNotOurs: the data directory belongs to another user.
	ErrNotOurs = errors.New("the data directory is not this user's")
	// ErrBusy: another program kept the file locked. A later attempt may succeed.
	ErrBusy = errors.New("the database is busy")
	// ErrCannotPersist: the disk is full, read-only or failing, or the file is damaged. Trying again does not help, so
	// the host must report the error and stop working.
	ErrCannotPersist = errors.New("the database cannot be written")
	// ErrDamaged comes with ErrCannotPersist if opening the database again would help: Open repairs a damaged database,
	// or moves it aside.
	ErrDamaged = errors.New("it is damaged")
	// ErrGone comes with ErrCannotPersist if the file was deleted or replaced while it was open.
	ErrGone = errors.New("the open file is gone")
)

// errCorrupt reports damage that the checks of this package have found. If SQLite itself notices damage, callers get
// SQLite's own error.
var errCorrupt = errors.New("not a usable database")

// The function `explain` turns an error of SQLite into an error of this package. After ctx has ended, SQLite only
// reports that the database was busy or that the statement was interrupted. So the function adds the error of ctx.
func explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case isAny(err, sqlite3.BUSY, sqlite3.LOCKED):
		err = fmt.Errorf("%w: %w", ErrBusy, err)
	case meansDamage(err):
		err = fmt.Errorf("%w: %w: %w", ErrCannotPersist, ErrDamaged, err)
	case isAny(err, sqlite3.FULL, sqlite3.READONLY, sqlite3.IOERR, sqlite3.CANTOPEN, sqlite3.PERM):
		err = fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func isCorrupt(err error) bool {
	return errors.Is(err, errCorrupt) || isAny(err, sqlite3.CORRUPT, sqlite3.NOTADB)
}

// meansDamage reports whether an error may mean damage. A short read counts too, because it happens if the write-ahead
// log was cut off. The next Open finds out whether the database is really damaged.
func meansDamage(err error) bool {
	return isCorrupt(err) || errors.Is(err, sqlite3.IOERR_SHORT_READ)
}

func isAny(err error, codes ...error) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
