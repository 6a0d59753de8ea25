package file

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// moveAside renames the database and its sidecars to a name with the current time (Unix ms), and returns that
// name, for example magicctx.db.corrupt-1700000000000. The sidecars keep their suffixes, so that the moved
// files still open together. moveAside moves the sidecars first, because SQLite deletes a write-ahead log
// whose database is missing.
func moveAside(path string, now int64) (string, error) {
	moved := path + ".corrupt-" + strconv.FormatInt(now, 10)
	for exists(moved) || exists(moved+"-wal") {
		now++
		moved = path + ".corrupt-" + strconv.FormatInt(now, 10)
	}
	for _, suffix := range []string{"-wal", "-shm", "-journal", ""} {
		err := os.Rename(path+suffix, moved+suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return moved, removeIfExists(suspectPath(path))
}

// KeptAside is how many damaged databases stay on disk.
const KeptAside = 2

// removeOldAside removes all but the newest damaged databases. It also removes unfinished copies, which a
// host leaves if it is killed while copying.
func (f *File) removeOldAside() error {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	var errs []error
	var times []int64
	for _, entry := range entries {
		name, isOurs := strings.CutPrefix(entry.Name(), fileName)
		if strings.HasPrefix(name, ".v") && strings.HasSuffix(name, ".bak.partial") && isOurs {
			errs = append(errs, removeIfExists(filepath.Join(filepath.Dir(f.path), entry.Name())))
		}
		at, isAside := strings.CutPrefix(name, ".corrupt-")
		for _, suffix := range sidecars {
			at = strings.TrimSuffix(at, suffix)
		}
		if n, err := strconv.ParseInt(at, 10, 64); isOurs && isAside && err == nil && !slices.Contains(times, n) {
			times = append(times, n)
		}
	}
	slices.Sort(times)
	for _, at := range times[:max(0, len(times)-KeptAside)] {
		for _, suffix := range append(sidecars, "") {
			errs = append(errs, removeIfExists(f.path+".corrupt-"+strconv.FormatInt(at, 10)+suffix))
		}
	}
	return errors.Join(errs...)
}

// sidecars are the suffixes of the files that SQLite keeps beside a database.
var sidecars = []string{"-wal", "-shm", "-journal"}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// suspectPath returns the name of a marker file. If a host meets damage, it creates this file, and the next
// Open then checks the whole database. Without the marker, every start would need a check, and its time grows
// with the database.
func suspectPath(path string) string { return path + ".suspect" }

// suspect creates the marker file after a statement has met damage in the open database.
func (f *File) suspect(cause error) {
	f.log.Error("database damaged: checked and replaced at the next start", "path", f.path, "cause", cause)
	if err := os.WriteFile(suspectPath(f.path), []byte(cause.Error()+"\n"), Mode); err != nil {
		f.log.Error("cannot remember the damage", "path", f.path, "cause", err)
	}
}

// checkSuspect checks the whole database if the last host met damage. If the database is really damaged, it
// fails with errCorrupt.
func (f *File) checkSuspect(ctx context.Context, conn *sql.Conn) error {
	if !exists(suspectPath(f.path)) {
		return nil
	}
	var verdict string
	if err := conn.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&verdict); err != nil {
		return fmt.Errorf("check suspect database: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", errCorrupt, verdict)
	}
	f.log.Warn("suspect database found sound", "path", f.path)
	return removeIfExists(suspectPath(f.path))
}

// Explain adds to an error of SQLite the sentinel error for which callers test. If err means damage, Explain
// also marks the database for a check at the next start.
func (f *File) Explain(ctx context.Context, err error) error {
	if meansDamage(err) {
		f.suspect(err)
	}
	return explain(ctx, err)
}
