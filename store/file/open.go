package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/magicctx/magicctx-host/internal/clock"
)

const (
	fileName = "magicctx.db"
	lockName = "magicctx.lock"

	// No other user may read the files of the host, because they hold the user's prompts.
	Mode    = 0o600
	dirMode = 0o700

	// busyTimeout bounds the wait for another program's lock on the file.
	busyTimeout = 5 * time.Second

	// maxReaders bounds the reading connections. Each costs about 3.5 MB.
	maxReaders = 3
)

// Options say where a database is, and which log and clock it uses. All fields are required.
type Options struct {
	// Dir holds the database, its lock and its copies. Open creates it with mode 0700, and does not change the mode
	// of an existing directory, because other programs may share it.
	Dir   string
	Log   *slog.Logger
	Clock clock.Clock
}

// A File is the open database of a directory. Only one process on a machine can have it open.
type File struct {
	path      string
	log       *slog.Logger
	clock     clock.Clock
	lock      *flock.Flock
	recovered string
	version   int
	opened    os.FileInfo // the identity of the database file when it was opened
	// isSound means that Open has checked or repaired the whole database.
	isSound bool

	write *sql.DB // pool of one connection
	read  *sql.DB // pool of connections that cannot write

	closing  sync.Once
	closeErr error
}

// Open opens the database in o.Dir, or creates it, and applies the migrations that it lacks. If the database is
// damaged, Open moves it aside and creates an empty one (see Recovered). The function `release` must finalize the
// statements that the caller has prepared on the writer's connection. It is called just before this connection is
// closed.
//
// If Open fails, the error is ErrLocked, ErrNewerSchema, ErrOlderSchema, ErrForeign, ErrNotOurs, ErrBusy or
// ErrCannotPersist. Nothing stays open, and the file is unchanged except for migrations that have succeeded. Under go
// test, Open refuses the user's real database.
func Open(ctx context.Context, o Options, migrations []Migration, release func(*sqlite3.Conn) error) (*File, error) {
	if o.Dir == "" {
		return nil, errors.New("open database: no directory given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open database in %s: %w", o.Dir, err)
	}
	if testing.Testing() {
		if err := refuseReal(dir, os.TempDir(), os.Getenv); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("create database directory: %w: %w", ErrCannotPersist, err)
	}
	if err := errors.Join(CheckOwner(dir), checkFiles(dir)); err != nil {
		return nil, fmt.Errorf("open database in %s: %w", dir, err)
	}
	if err := checkMemory(ctx, reservedBytes); err != nil {
		return nil, fmt.Errorf("open database in %s: %w", dir, err)
	}
	lock, err := takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	f := &File{path: PathIn(dir), log: o.Log, clock: o.Clock, lock: lock}
	if err := f.openOrReplace(ctx, migrations, release); err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("open database %s: %w", f.path, explain(ctx, err))
	}
	if err := f.removeOldAside(); err != nil {
		o.Log.Warn("old damaged databases are not removed", "path", f.path, "cause", err)
	}
	return f, nil
}

func (f *File) openOrReplace(ctx context.Context, migrations []Migration, release func(*sqlite3.Conn) error) error {
	err := f.openFile(ctx, migrations, release)
	if !isCorrupt(err) {
		return err
	}
	moved, moveErr := moveAside(f.path, f.clock.Now())
	if moveErr != nil {
		return fmt.Errorf("move damaged database aside: %w: %w", moveErr, err)
	}
	f.recovered = moved
	f.log.Error("database damaged: moved aside, starting with an empty one", "path", f.path, "moved", moved, "cause", err)
	return f.openFile(ctx, migrations, release)
}

func (f *File) openFile(ctx context.Context, migrations []Migration, release func(*sqlite3.Conn) error) (err error) {
	missing, err := inspect(f.path)
	if err != nil {
		return err
	}
	if missing {
		if err := create(f.path); err != nil {
			return err
		}
	}
	if err := os.Chmod(f.path, Mode); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	defer func() {
		if err != nil {
			f.closeConnections()
		}
	}()
	if f.write, err = driver.Open(f.path, setUpWriter, release); err != nil {
		return err
	}
	f.write.SetMaxOpenConns(1)
	if f.version, err = f.prepareSchema(ctx, migrations); err != nil {
		return err
	}
	if f.read, err = driver.Open(f.path, setUpReader, finalize); err != nil {
		return err
	}
	f.read.SetMaxOpenConns(maxReaders)
	f.read.SetMaxIdleConns(maxReaders)
	if err := f.read.PingContext(ctx); err != nil {
		return err
	}
	if f.opened, err = os.Stat(f.path); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	return f.hideSidecars()
}

// InPlace fails with ErrCannotPersist if the database was deleted or replaced since it was opened. A write would go to
// the old file and be lost.
func (f *File) InPlace() error {
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %w: %s was deleted while the host had it open", ErrCannotPersist, ErrGone, f.path)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	case !os.SameFile(info, f.opened):
		return fmt.Errorf("%w: %w: %s was replaced while the host had it open", ErrCannotPersist, ErrGone, f.path)
	}
	return nil
}

// The busy timeout is set first, because every later statement may have to wait for a lock.
func setUpWriter(c *sqlite3.Conn) error {
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	return c.Exec(`
		PRAGMA foreign_keys = ON;
		PRAGMA temp_store = MEMORY;
		PRAGMA journal_mode = WAL;
		PRAGMA synchronous = NORMAL;`)
}

func setUpReader(c *sqlite3.Conn) error {
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	prepared.Store(c, make(map[string]*sqlite3.Stmt))
	return c.Exec(`
		PRAGMA temp_store = MEMORY;
		PRAGMA query_only = ON;`)
}

// SQLite chooses the modes of the sidecars from the umask alone, so hideSidecars makes them private.
func (f *File) hideSidecars() error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(f.path+suffix, Mode); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrCannotPersist, err)
		}
	}
	return nil
}

func (f *File) Path() string { return f.path }

// SchemaVersion returns the newest version that this build knows.
func (f *File) SchemaVersion() int { return f.version }

func (f *File) Writer() *sql.DB { return f.write }

func (f *File) Reader() *sql.DB { return f.read }

// Recovered returns the path to which Open moved a damaged database, or "". If it is not "", this database started
// empty.
func (f *File) Recovered() string { return f.recovered }

// Close waits for the write in progress, closes the database and releases its lock. A second call returns the same
// result.
func (f *File) Close() error {
	f.closing.Do(func() {
		f.closeErr = errors.Join(f.closeConnections(), f.lock.Unlock())
	})
	return f.closeErr
}

// The writer is closed last, because a reader cannot move the write-ahead log into the database.
func (f *File) closeConnections() error {
	var errs []error
	for _, db := range []*sql.DB{f.read, f.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
