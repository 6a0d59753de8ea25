package store

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

	fileMode = 0o600
	dirMode  = 0o700

	// busyTimeout bounds the wait for another program's lock on the file.
	busyTimeout = 5 * time.Second

	// maxReaders bounds the reading connections. Each costs about 3.5 MB.
	maxReaders = 3
)

// Options say where a store is and which log and clock it uses. All fields are
// required.
type Options struct {
	// Dir holds the database, its lock and its copies. If it does not exist, it
	// is created with mode 0700. The mode of an existing directory stays as it
	// is, because other programs may share the directory. All our files have
	// mode 0600.
	Dir   string
	Log   *slog.Logger
	Clock clock.Clock
}

// A Store is the open database. On one machine, one process at a time has the
// store of a directory open.
type Store struct {
	path      string
	log       *slog.Logger
	clock     clock.Clock
	lock      *flock.Flock
	recovered string
	version   int

	write *sql.DB // pool of one connection
	read  *sql.DB // pool of connections that cannot write

	// statements belongs to the holder of the connection in write.
	statements statements

	// waits holds the keys of sessions that have a file of waiting units. Few have,
	// and a pass must not ask the disk for it.
	waits sync.Map

	closing  sync.Once
	closeErr error
}

// Open opens the database in o.Dir, or creates it, and migrates it to the
// schema of this build. Open moves a damaged database aside and replaces it by
// an empty one, see Recovered.
//
// It fails with ErrLocked, ErrNewerSchema, ErrForeign, ErrBusy or
// ErrCannotPersist. Nothing stays open then, and the file is unchanged, except
// that earlier successful migrations are kept. Under go test, Open refuses the
// user's real database.
func Open(ctx context.Context, o Options) (*Store, error) {
	s, err := open(ctx, o, released())
	if err != nil {
		return nil, err
	}
	if err := s.healClaims(ctx); err != nil { // no need to fail: ClaimMessage ignores stale claims as well
		s.log.Warn("claims of a host that is gone stay for now", "path", s.path, "cause", err)
	}
	return s, nil
}

func open(ctx context.Context, o Options, migrations []migration) (*Store, error) {
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
	lock, err := takeLock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	s := &Store{path: filepath.Join(dir, fileName), log: o.Log, clock: o.Clock, lock: lock, statements: make(statements)}
	if err := s.openOrReplace(ctx, migrations); err != nil {
		lock.Unlock()
		return nil, fmt.Errorf("open database %s: %w", s.path, explain(ctx, err))
	}
	return s, nil
}

func (s *Store) openOrReplace(ctx context.Context, migrations []migration) error {
	err := s.openFile(ctx, migrations)
	if !isCorrupt(err) {
		return err
	}
	moved, moveErr := moveAside(s.path, s.clock.Now())
	if moveErr != nil {
		return fmt.Errorf("move damaged database aside: %w: %w", moveErr, err)
	}
	s.recovered = moved
	s.log.Error("database damaged: moved aside, starting with an empty one", "path", s.path, "moved", moved, "cause", err)
	return s.openFile(ctx, migrations)
}

func (s *Store) openFile(ctx context.Context, migrations []migration) (err error) {
	missing, err := inspect(s.path)
	if err != nil {
		return err
	}
	if missing {
		if err := create(s.path); err != nil {
			return err
		}
	}
	if err := os.Chmod(s.path, fileMode); err != nil {
		return fmt.Errorf("%w: %w", ErrCannotPersist, err)
	}
	defer func() {
		if err != nil {
			s.closeConnections()
		}
	}()
	if s.write, err = driver.Open(s.path, setUpWriter, s.statements.close); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.version, err = s.prepareSchema(ctx, migrations); err != nil {
		return err
	}
	if s.read, err = driver.Open(s.path, setUpReader); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(maxReaders)
	s.read.SetMaxIdleConns(maxReaders)
	if err := s.read.PingContext(ctx); err != nil {
		return err
	}
	return s.hideSidecars()
}

// setUpWriter sets the busy timeout first, because every later statement may
// meet a lock.
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
	return c.Exec(`
		PRAGMA temp_store = MEMORY;
		PRAGMA query_only = ON;`)
}

// hideSidecars makes the files that SQLite keeps beside the database private.
// SQLite creates them with modes from the umask alone.
func (s *Store) hideSidecars() error {
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(s.path+suffix, fileMode); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrCannotPersist, err)
		}
	}
	return nil
}

// Path returns the path of the database file.
func (s *Store) Path() string { return s.path }

// SchemaVersion returns the schema version of the database, which is the newest
// version that this build knows.
func (s *Store) SchemaVersion() int { return s.version }

// Recovered returns the path to which Open moved a damaged database. It is
// empty if the database was not damaged. If it is not empty, the store started
// empty.
func (s *Store) Recovered() string { return s.recovered }

// Close waits for the write in progress, closes the database and releases its
// lock. Calling it again returns the same result.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.closeErr = errors.Join(s.closeConnections(), s.lock.Unlock())
	})
	return s.closeErr
}

// closeConnections closes the writer last, because the last connection moves
// the write-ahead log into the database, and a reader cannot do that.
func (s *Store) closeConnections() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
