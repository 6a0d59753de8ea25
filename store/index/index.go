package index

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/magicctx/magicctx-host/store/file"
)

const fileName = "magicctx.index.db"

// version is the version of schema.sql. An older index is deleted and made again.
const version = 4

// busyTimeout bounds the wait for another process that writes the index. A transaction takes at most about a second.
const busyTimeout = 10 * time.Second

//go:embed schema.sql
var schema string

// Callers test for these errors with errors.Is.
var (
	// ErrMissing: nothing was indexed yet.
	ErrMissing = errors.New("there is no index yet")
	// ErrNewer: a newer release has written the index.
	ErrNewer = errors.New("the index was written by a newer magicctx-host")
	// ErrWrite is wrapped by each error of Update.
	ErrWrite = errors.New("write the index")
	// ErrForeign: the file is a database of another program.
	ErrForeign = errors.New("it is no index of magicctx")
)

// An Index is the open index. Its methods are safe for concurrent use, and run one at a time.
type Index struct {
	path     string
	mu       sync.Mutex
	conn     *sqlite3.Conn
	prepared map[string]*sqlite3.Stmt // by their texts, which must be constants
	projects map[string]int64         // the rows of projects, by identity
}

// PathIn returns the path of the index in a data directory.
func PathIn(dir string) string { return filepath.Join(dir, fileName) }

// Open opens the index in a data directory for writing, and creates it if there is none. A damaged or older index is
// deleted first. Open fails with ErrNewer, ErrForeign, or an error of the package store/file.
func Open(ctx context.Context, dir string) (*Index, error) {
	x, err := open(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open the index %s: %w", PathIn(dir), file.Classify(ctx, err))
	}
	return x, nil
}

func open(ctx context.Context, dir string) (*Index, error) {
	if err := file.RefuseReal(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", file.ErrCannotPersist, err)
	}
	x := &Index{path: PathIn(dir)}
	if err := errors.Join(file.CheckOwner(dir), file.CheckFile(x.path)); err != nil {
		return nil, err
	}
	err := x.connect(ctx)
	if errors.Is(err, errOutdated) || file.IsDamage(err) {
		if err := remove(x.path); err != nil {
			return nil, err
		}
		err = x.connect(ctx)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// errOutdated: an older release has written the index.
var errOutdated = errors.New("the index is of an older release")

func remove(path string) error {
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", file.ErrCannotPersist, err)
		}
	}
	return nil
}

// connect opens the file. In an empty file, it creates the tables.
func (x *Index) connect(ctx context.Context) (err error) {
	f, err := os.OpenFile(x.path, os.O_CREATE|os.O_RDWR, file.Mode)
	if err != nil {
		return fmt.Errorf("%w: %w", file.ErrCannotPersist, err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	c, err := sqlite3.OpenFlags(x.path, sqlite3.OPEN_READWRITE)
	if err != nil {
		return err
	}
	x.conn, x.prepared, x.projects = c, map[string]*sqlite3.Stmt{}, map[string]int64{}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := errors.Join(c.BusyTimeout(busyTimeout), fts5.Register(c)); err != nil {
		return err
	}
	if err := c.Exec(`PRAGMA temp_store = MEMORY; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000`); err != nil {
		return err
	}
	if err := x.prepareSchema(); err != nil {
		return err
	}
	return x.hide()
}

// hide makes the files of the index private. SQLite itself chooses the modes of new files from the umask alone, so
// other users could read them.
func (x *Index) hide() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Chmod(x.path+suffix, file.Mode); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", file.ErrCannotPersist, err)
		}
	}
	return nil
}

// prepareSchema uses a write transaction. If two processes open a new index at the same time, only one of them
// creates the tables.
func (x *Index) prepareSchema() (err error) {
	tx, err := x.conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	isNew, err := checkVersion(x.conn)
	if err != nil || !isNew {
		return err
	}
	return x.conn.Exec(schema + fmt.Sprintf(`
		PRAGMA application_id = %d;
		PRAGMA user_version = %d;
		INSERT INTO terms (terms, rank) VALUES ('hashsize', 8388608);`, file.ApplicationID, version))
}

func checkVersion(c *sqlite3.Conn) (isNew bool, err error) {
	var id, stored, tables int
	err = file.Scan(c, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`,
		func(s *sqlite3.Stmt) { id, stored, tables = s.ColumnInt(0), s.ColumnInt(1), s.ColumnInt(2) })
	switch {
	case err != nil:
		return false, err
	case tables == 0:
		return true, nil
	case id != file.ApplicationID:
		return false, ErrForeign
	case stored > version:
		return false, fmt.Errorf("%w: its version is %d, this program reads %d; update magicctx-host", ErrNewer, stored, version)
	case stored < version:
		return false, errOutdated
	}
	return false, nil
}

// OpenReadOnly opens the index in a data directory to search it. It fails with ErrMissing, ErrNewer, ErrForeign, or
// an error of the package store/file.
func OpenReadOnly(ctx context.Context, dir string) (*Index, error) {
	x := &Index{path: PathIn(dir), prepared: map[string]*sqlite3.Stmt{}}
	err := func() (err error) {
		if err := errors.Join(file.RefuseReal(dir), file.CheckFile(x.path)); err != nil {
			return err
		}
		if info, err := os.Stat(x.path); errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
			return ErrMissing
		}
		if x.conn, err = sqlite3.OpenFlags(x.path, sqlite3.OPEN_READONLY); err != nil {
			return err
		}
		defer x.conn.SetInterrupt(x.conn.SetInterrupt(ctx))
		isNew := false
		if err = errors.Join(x.conn.BusyTimeout(busyTimeout), fts5.Register(x.conn)); err == nil {
			isNew, err = checkVersion(x.conn)
		}
		if err == nil {
			err = x.hide()
		}
		if isNew || errors.Is(err, errOutdated) {
			err = ErrMissing // the next write makes the index anew
		}
		if err != nil {
			x.conn.Close()
		}
		return err
	}()
	if err != nil {
		return nil, fmt.Errorf("open the index %s: %w", x.path, file.Classify(ctx, err))
	}
	return x, nil
}

func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.conn == nil {
		return nil
	}
	var errs []error
	for _, stmt := range x.prepared {
		errs = append(errs, stmt.Close())
	}
	errs = append(errs, x.conn.Close())
	x.conn = nil
	return errors.Join(errs...)
}

// SizeOnDisk returns the size of the index, in bytes.
func (x *Index) SizeOnDisk() (int64, error) { return file.SizeOnDisk(x.path) }

func (x *Index) prepare(query string, args []any) (*sqlite3.Stmt, error) {
	if x.conn == nil {
		return nil, errors.New("the index is closed")
	}
	stmt, ok := x.prepared[query]
	if !ok {
		made, _, err := x.conn.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT)
		if err != nil {
			return nil, err
		}
		stmt, x.prepared[query] = made, made
	}
	for i, arg := range args {
		var err error
		if status, ok := arg.(*int); ok {
			if err = stmt.BindNull(i + 1); status != nil {
				err = stmt.BindInt(i+1, *status)
			}
		} else {
			err = file.Bind(stmt, i+1, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return stmt, nil
}

// row may be nil.
func (x *Index) scan(query string, row func(*sqlite3.Stmt), args ...any) error {
	stmt, err := x.prepare(query, args)
	if err != nil {
		return err
	}
	for stmt.Step() {
		if row != nil {
			row(stmt)
		}
	}
	return errors.Join(stmt.Err(), stmt.Reset(), stmt.ClearBindings())
}
