package store

import (
	"context"
	"log/slog"

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
	ErrForeign       = file.ErrForeign
	ErrNotOurs       = file.ErrNotOurs
	ErrBusy          = file.ErrBusy
	ErrCannotPersist = file.ErrCannotPersist
	ErrDamaged       = file.ErrDamaged
	ErrGone          = file.ErrGone
)

// A Store is the open database. Its methods read and write sessions as passes do. Everything else has a type of
// its own. On each machine, only one process at a time can have the store of a directory open.
type Store struct {
	*db
	History  *History
	Leases   *Leases
	Markers  *Markers
	Memories *Memories
	Models   *Models
	Reports  *Reports
	Runs     *Runs
	Waiting  *Waiting
}

// A db runs transactions on the database's file.
type db struct {
	file  *file.File
	log   *slog.Logger
	clock clock.Clock

	// statements may be used only by the holder of the writer's connection.
	statements statements

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
	if err := s.Leases.releaseAll(ctx); err != nil { // no need to fail: the leases expire
		s.log.Warn("leases of a host that is gone stay until they expire", "path", s.Path(), "cause", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options, migrations []file.Migration) (*Store, error) {
	d := &db{log: o.Log, clock: o.Clock, statements: make(statements)}
	var err error
	if d.file, err = file.Open(ctx, o, migrations, d.statements.close); err != nil {
		return nil, err
	}
	return &Store{
		db: d, History: &History{d}, Leases: &Leases{d, LeaseTerm}, Markers: &Markers{d}, Memories: &Memories{d},
		Models: &Models{d}, Reports: &Reports{d}, Runs: &Runs{d}, Waiting: &Waiting{db: d},
	}, nil
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
