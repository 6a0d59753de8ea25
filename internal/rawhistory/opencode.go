package rawhistory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/regular"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/store/opencodedb"
)

func (r Reader) readOpenCode(ctx context.Context, s Session, start, end int, yield func(Message) bool) (extent Extent, err error) {
	extent.Path, err = r.OpenCodeDatabase(ctx, s.ID, func(db *opencodedb.DB) (err error) {
		extent, err = readRows(ctx, db, s, start, end, yield)
		return err
	})
	return extent, err
}

// OpenCodeDatabase finds the database of OpenCode 1 that holds a session. It calls the function `read` with this
// database, and returns the database's path.
func (r Reader) OpenCodeDatabase(ctx context.Context, session string, read func(*opencodedb.DB) error) (path string, err error) {
	return r.databaseWith(ctx, session, (*opencodedb.DB).HasSession, read)
}

func (r Reader) databaseWith(ctx context.Context, session string, holds func(*opencodedb.DB, string) (bool, error), read func(*opencodedb.DB) error) (path string, err error) {
	paths, err := r.OpenCodeDatabases()
	if err != nil {
		return "", err
	}
	var problems []error
	for _, path := range paths {
		isThere := false
		err := opencodedb.Read(ctx, path, func(db *opencodedb.DB) (err error) {
			if isThere, err = holds(db, session); err != nil || !isThere {
				return err
			}
			return read(db)
		})
		if isThere {
			return path, err
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return paths[len(paths)-1], err
	}
	return paths[len(paths)-1], fmt.Errorf("%w: OpenCode's database %s does not hold it; if OpenCode uses another one, set OPENCODE_DB", ErrUnknownSession, paths[0])
}

func readRows(ctx context.Context, db *opencodedb.DB, s Session, start, end int, yield func(Message) bool) (Extent, error) {
	rows, err := db.Messages(s.ID)
	if err != nil {
		return Extent{}, err
	}
	entries := make([]history.Entry, len(rows))
	for i, row := range rows {
		entries[i] = history.Entry{Key: row.ID, IsSummary: row.IsSummary}
	}
	read := func(i int) (json.Value, error) { return db.Raw(s.ID, rows[i].ID) }
	return Deliver(ctx, transcript.WithTyped(transcript.OpenCode{}, s.Typed), entries, s.Anchors, start, end, read, yield)
}

// ErrNoDatabase means that OpenCode never ran, so there is no database.
var ErrNoDatabase = errors.New("OpenCode has no database")

// OpenCodeDatabases returns the databases that may contain a session, the most likely first. If there is none, it
// returns an error.
func (r Reader) OpenCodeDatabases() ([]string, error) {
	data := r.openCodeData()
	if name := r.Env("OPENCODE_DB"); name != "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(data, name)
		}
		return []string{name}, checkRegular(name)
	}
	if data == "" {
		return nil, errors.New("OpenCode's data directory is unknown: neither XDG_DATA_HOME nor HOME is set")
	}
	files, err := os.ReadDir(data) // the files are sorted by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, f := range files {
		switch name := f.Name(); {
		case name == "opencode.db":
			paths = slices.Insert(paths, 0, filepath.Join(data, name))
		case strings.HasPrefix(name, "opencode-") && strings.HasSuffix(name, ".db"): // this is the database of another release channel
			paths = append(paths, filepath.Join(data, name))
		}
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%w in %s; if it lies elsewhere, set OPENCODE_DB", ErrNoDatabase, data)
	}
	for _, path := range paths {
		if err := checkRegular(path); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// OpenCode follows the XDG specification on every system. If there is no home directory, openCodeData returns "".
func (r Reader) openCodeData() string {
	data := r.Env("XDG_DATA_HOME")
	if data == "" {
		home := r.home()
		if home == "" {
			return ""
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "opencode")
}

func (r Reader) home() string { return cmp.Or(r.Env("HOME"), r.Env("USERPROFILE")) }

// checkRegular returns an error if path is not a regular file, for example a named pipe. Opening a named pipe would
// block until some program writes into it.
func checkRegular(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if err := regular.Check(info); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
