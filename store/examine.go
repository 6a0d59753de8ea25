package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// An Examination is what a look at a database from outside has found.
type Examination struct {
	Path   string
	Exists bool
	Bytes  int64 // on disk, the write-ahead log included
	// Schema is the version of the database, NewestSchema what this build knows.
	Schema, NewestSchema int
	Sessions             int
	// Damage is what SQLite says is wrong; empty when it is sound.
	Damage []string
	Aside  []string // damaged databases that were moved aside
}

// LastOwner returns the process that opened the database in dir last, which may
// have ended, 0 when unknown.
func LastOwner(dir string) (pid int) {
	pid, _ = strconv.Atoi(ownerOf(filepath.Join(dir, lockName)))
	return pid
}

// maxDamage bounds the lines of a check.
const maxDamage = 5

// Examine reads the database in dir through a connection that cannot write, and
// checks all of it. It takes no lock, so a host may be at work. It fails with
// ErrForeign, ErrBusy or, when it cannot be read, ErrCannotPersist.
func Examine(ctx context.Context, dir string) (Examination, error) {
	migrations := released()
	x := Examination{Path: filepath.Join(dir, fileName), NewestSchema: migrations[len(migrations)-1].version}
	if testing.Testing() {
		if err := refuseReal(dir, os.TempDir(), os.Getenv); err != nil {
			return x, err
		}
	}
	var err error
	if x.Aside, err = filepath.Glob(filepath.Join(dir, fileName+".corrupt-*[0-9]")); err != nil {
		return x, fmt.Errorf("examine database: %w", err)
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
	if x.Bytes, err = sizeOnDisk(x.Path); err != nil {
		return x, err
	}
	if err := x.check(ctx); isCorrupt(err) {
		x.Damage = append(x.Damage, err.Error())
	} else if err != nil {
		return x, fmt.Errorf("examine database: %w", explain(ctx, err))
	}
	return x, nil
}

func (x *Examination) check(ctx context.Context) (err error) {
	sidecars := []string{x.Path + "-wal", x.Path + "-shm"}
	var ours []string // SQLite makes them under the umask alone
	for _, file := range sidecars {
		if !exists(file) {
			ours = append(ours, file)
		}
	}
	c, err := sqlite3.OpenFlags(x.Path, sqlite3.OPEN_READONLY)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.Close())
		for _, file := range ours {
			_ = os.Chmod(file, fileMode) // if it is still there
		}
	}()
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.BusyTimeout(busyTimeout); err != nil {
		return err
	}
	if err := scan(c, `PRAGMA user_version`, func(row *sqlite3.Stmt) { x.Schema = row.ColumnInt(0) }); err != nil {
		return err
	}
	err = scan(c, fmt.Sprintf(`PRAGMA quick_check(%d)`, maxDamage), func(row *sqlite3.Stmt) {
		if line := row.ColumnText(0); line != "ok" {
			x.Damage = append(x.Damage, line)
		}
	})
	if err != nil || x.Schema == 0 || len(x.Damage) > 0 {
		return err
	}
	return scan(c, `SELECT count(*) FROM sessions`, func(row *sqlite3.Stmt) { x.Sessions = row.ColumnInt(0) })
}
