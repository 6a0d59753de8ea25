package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// An Examination is the result of examining a database from outside.
type Examination struct {
	Path   string
	Exists bool
	Bytes  int64 // on disk, including the write-ahead log
	// This build can open the schema versions from OldestSchema to NewestSchema.
	Schema, OldestSchema, NewestSchema int
	Sessions                           int
	// Damage lists the problems that SQLite found. It is empty if the database is sound.
	Damage []string
	// Planted names the triggers and views of other programs, for example "trigger t". The next host removes them.
	Planted []string
	Aside   []string // paths of damaged databases that were moved aside
}

// LastOwner returns the pid of the process that last opened the database in `dir`, or 0. That process may have ended
// since.
func LastOwner(dir string) (pid int) {
	pid, _ = strconv.Atoi(ownerOf(filepath.Join(dir, lockName)))
	return pid
}

// maxDamage bounds how many problems a check lists.
const maxDamage = 5

// Examine checks the whole database in `dir`, and writes nothing. It takes no lock, so a host may be running. It fails
// with ErrForeign or ErrBusy, or with ErrCannotPersist if the database cannot be read.
func Examine(ctx context.Context, dir string) (Examination, error) {
	x := Examination{Path: filepath.Join(dir, fileName), OldestSchema: firstVersion, NewestSchema: newestVersion()}
	if testing.Testing() {
		if err := refuseReal(dir, os.TempDir(), os.Getenv); err != nil {
			return x, err
		}
	}
	aside, err := fs.Glob(os.DirFS(dir), fileName+".corrupt-*[0-9]")
	if err != nil {
		return x, fmt.Errorf("examine database: %w", err)
	}
	for _, name := range aside {
		x.Aside = append(x.Aside, filepath.Join(dir, name))
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := CheckFile(x.Path + suffix); err != nil {
			return x, fmt.Errorf("examine database: %w", err)
		}
	}
	missing, err := inspect(x.Path)
	if isCorrupt(err) {
		x.Exists, x.Damage = true, []string{err.Error()}
		return x, nil
	}
	if missing || err != nil {
		return x, err
	}
	x.Exists = true
	if x.Bytes, err = SizeOnDisk(x.Path); err != nil {
		return x, err
	}
	if err := x.check(ctx); isCorrupt(err) {
		x.Damage = append(x.Damage, err.Error())
	} else if err != nil {
		return x, fmt.Errorf("examine database: %w", explain(ctx, err))
	}
	return x, nil
}

func (x *Examination) check(ctx context.Context) error {
	return ReadOnly(ctx, x.Path, x.read)
}

// ReadOnly calls the function `read` with a connection that cannot write to the database at `path`. It works even while
// a host owns the database. If ctx ends, ReadOnly stops waiting for another program's lock.
func ReadOnly(ctx context.Context, path string, read func(*sqlite3.Conn) error) (err error) {
	return connect(ctx, path, sqlite3.OPEN_READONLY, read)
}

func connect(ctx context.Context, path string, flags sqlite3.OpenFlag, use func(*sqlite3.Conn) error) (err error) {
	var ours []string // sidecars that SQLite creates for this connection; the umask alone decides their modes
	for _, file := range []string{path + "-wal", path + "-shm"} {
		if !exists(file) {
			ours = append(ours, file)
		}
	}
	c, err := sqlite3.OpenFlags(path, flags)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.Close())
		for _, file := range ours {
			_ = os.Chmod(file, Mode) // SQLite may have removed the file
		}
	}()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	return use(c)
}

func (x *Examination) read(c *sqlite3.Conn) error {
	if err := Scan(c, `PRAGMA user_version`, func(row *sqlite3.Stmt) { x.Schema = row.ColumnInt(0) }); err != nil {
		return err
	}
	err := Scan(c, fmt.Sprintf(`PRAGMA quick_check(%d)`, maxDamage), func(row *sqlite3.Stmt) {
		if line := row.ColumnText(0); line != "ok" {
			x.Damage = append(x.Damage, line)
		}
	})
	if err != nil || x.Schema == 0 || len(x.Damage) > 0 {
		return err
	}
	present := make(map[string]string)
	if err := Scan(c, selectTables, func(row *sqlite3.Stmt) { present[row.ColumnText(0)] = row.ColumnText(1) }); err != nil {
		return err
	}
	if err := checkTables(x.Schema, present); err != nil {
		return err
	}
	others, err := plantedIn(c)
	for _, p := range others {
		x.Planted = append(x.Planted, p.String())
	}
	if err != nil {
		return err
	}
	return Scan(c, `SELECT count(*) FROM sessions`, func(row *sqlite3.Stmt) { x.Sessions = row.ColumnInt(0) })
}

// OldestUse finds the session that has been unused the longest, and returns the time of its last use (Unix ms), or 0.
// It takes no lock and cannot write.
func OldestUse(ctx context.Context, dir string) (at int64, err error) {
	path := PathIn(dir)
	if err := CheckFile(path); err != nil {
		return 0, err
	}
	if missing, err := inspect(path); missing || err != nil {
		if isCorrupt(err) {
			err = nil // the examination reports the damage
		}
		return 0, err
	}
	err = ReadOnly(ctx, path, func(c *sqlite3.Conn) error {
		known := false
		err := Scan(c, `SELECT 1 FROM sqlite_schema WHERE name = 'sessions'`, func(*sqlite3.Stmt) { known = true })
		if err != nil || !known {
			return err
		}
		return Scan(c, `SELECT ifnull(min(max(updated_at, last_pass_at)), 0) FROM sessions`, func(row *sqlite3.Stmt) { at = row.ColumnInt64(0) })
	})
	if isCorrupt(err) {
		return 0, nil
	}
	return at, explain(ctx, err)
}
