package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// The errors that callers branch on, with errors.Is.
var (
	// ErrLocked: another host owns the database. The message names its pid.
	ErrLocked = errors.New("the database is in use by another host")
	// ErrNewerSchema: a newer host has migrated the database.
	ErrNewerSchema = errors.New("the database was written by a newer magicctx-host")
	// ErrForeign: the file at our path is an SQLite database of another program.
	ErrForeign = errors.New("the database belongs to another program")
	// ErrBusy: another program kept the file locked. Trying again later helps.
	ErrBusy = errors.New("the database is busy")
	// ErrCannotPersist: the disk is full, read-only, failing, or the file is
	// damaged. Trying again does not help; the host must say so and stop working.
	ErrCannotPersist = errors.New("the database cannot be written")
	// ErrDamaged is an ErrCannotPersist that opening the database anew mends: it
	// is moved aside then.
	ErrDamaged = errors.New("it is damaged")
)

// errCorrupt is damage that we found, beside that which SQLite reports.
var errCorrupt = errors.New("not a usable database")

// explain attaches to an error of SQLite the sentinel that callers know. When
// ctx is over, its error is attached too: SQLite reports an abandoned wait as
// busy and an abandoned statement as interrupted.
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

// meansDamage tells more than isCorrupt, for a database that was sound when it
// was opened: reading beyond the end of a write-ahead log that was cut off.
// Whether it is damaged is found out when it is opened anew.
func meansDamage(err error) bool {
	return isCorrupt(err) || errors.Is(err, sqlite3.IOERR_SHORT_READ)
}

func isAny(err error, codes ...sqlite3.ErrorCode) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
