package store

import (
	"context"

	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/models"
	"github.com/magicctx/magicctx-host/store/pieces"
	"github.com/magicctx/magicctx-host/store/work"
)

// Options say where a store is and which log and clock it uses.
type Options = file.Options

// Callers test for these errors of the file with errors.Is.
var (
	ErrLocked        = file.ErrLocked
	ErrForeign       = file.ErrForeign
	ErrNotOurs       = file.ErrNotOurs
	ErrBusy          = file.ErrBusy
	ErrCannotPersist = file.ErrCannotPersist
	ErrDamaged       = file.ErrDamaged
	ErrGone          = file.ErrGone
)

// A Store is the open database. Its own methods read and write sessions for passes. Only one process on a machine can
// have the store of a directory open.
type Store struct {
	*database.DB
	History  *History
	Leases   *work.Leases
	Markers  *Markers
	Memories *memories.Memories
	Models   *models.Models
	Pieces   pieces.Pieces
	Reports  *Reports
	Runs     *work.Runs
	Calls    *work.Calls
	Waiting  *Waiting
}

// Open opens the database in o.Dir, or creates it, and migrates it to the schema of this build.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o, file.Released())
	if err != nil {
		return nil, err
	}
	if err := s.Leases.ReleaseAll(ctx); err != nil { // not an error, because the leases expire
		s.Log.Warn("leases of a host that is gone stay until they expire", "path", s.Path(), "cause", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options, migrations []file.Migration) (*Store, error) {
	d, err := database.Open(ctx, o, migrations)
	if err != nil {
		return nil, err
	}
	return &Store{
		DB: d, History: &History{d}, Leases: work.NewLeases(d), Markers: &Markers{d}, Memories: memories.In(d),
		Models: models.In(d), Pieces: pieces.Pieces{DB: d}, Reports: &Reports{d.View, d.Clock.Now}, Runs: work.NewRuns(d), Calls: work.NewCalls(d), Waiting: &Waiting{db: d},
	}, nil
}

// SizeOnDisk returns the size of the database and its write-ahead log, in bytes.
func (s *Store) SizeOnDisk() (int64, error) { return file.SizeOnDisk(s.Path()) }
