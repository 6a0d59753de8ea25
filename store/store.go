package store

import (
	"context"
	"log/slog"
	"sync"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/file"
)

// Options say where a store is and which log and clock it uses. All fields are
// required.
type Options = file.Options

// The errors of the file are errors of the store. Callers test for them with
// errors.Is.
var (
	ErrLocked        = file.ErrLocked
	ErrNewerSchema   = file.ErrNewerSchema
	ErrForeign       = file.ErrForeign
	ErrNotOurs       = file.ErrNotOurs
	ErrBusy          = file.ErrBusy
	ErrCannotPersist = file.ErrCannotPersist
	ErrDamaged       = file.ErrDamaged
	ErrGone          = file.ErrGone
)

// A Store is the open database. On each machine, only one process at a time can have the store of a directory
// open.
type Store struct {
	file  *file.File
	log   *slog.Logger
	clock clock.Clock

	// statements may be used only by the holder of the writer's connection.
	statements statements

	// leaseTerm is how long a lease lasts, in ms.
	leaseTerm int64

	// waits holds the keys of the sessions that have a file of waiting units. There are few, and without
	// waits each pass would have to ask the disk.
	waits sync.Map

	// fault is nil except in tests. It is called before each statement of a write transaction. If it returns
	// an error, the statement fails.
	fault func(query string) error
}

// Open opens the database in o.Dir, or creates it, and migrates it to the schema of this build. See file.Open
// for the treatment of a damaged database and for the errors.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o, file.Released())
	if err != nil {
		return nil, err
	}
	if err := s.releaseLeases(ctx); err != nil { // no need to fail: the leases expire
		s.log.Warn("leases of a host that is gone stay until they expire", "path", s.Path(), "cause", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options, migrations []file.Migration) (*Store, error) {
	s := &Store{log: o.Log, clock: o.Clock, statements: make(statements), leaseTerm: LeaseTerm.Milliseconds()}
	var err error
	s.file, err = file.Open(ctx, o, migrations, s.statements.close)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Path returns the path of the database file.
func (s *Store) Path() string { return s.file.Path() }

// InPlace fails with ErrCannotPersist if the database was deleted or replaced since it was opened.
func (s *Store) InPlace() error { return s.file.InPlace() }

// SchemaVersion returns the schema version of the database, which is the newest
// version that this build knows.
func (s *Store) SchemaVersion() int { return s.file.SchemaVersion() }

// Recovered returns the path to which Open moved a damaged database. If it is not "", this store started
// empty. If it is "", the database was not damaged.
func (s *Store) Recovered() string { return s.file.Recovered() }

// SizeOnDisk returns the size of the database and its write-ahead log, in
// bytes.
func (s *Store) SizeOnDisk() (int64, error) { return file.SizeOnDisk(s.Path()) }

// Close waits for the write in progress, closes the database and releases its
// lock. Calling it again returns the same result.
func (s *Store) Close() error { return s.file.Close() }
