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

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
)

// moveAside renames the database and its sidecars to a name with the current time (Unix ms), for example
// magicctx.db.corrupt-1700000000000, and returns that name. The sidecars keep their suffixes, so that SQLite can still
// open the files together. They must be moved first, because SQLite deletes a write-ahead log whose database is
// missing.
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

// removeOldAside deletes all but the newest damaged databases. It also deletes the unfinished copies that a killed host
// may have left.
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

// sidecars are the suffixes of the files that SQLite adds to a database.
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

// suspectPath names a marker file. If the file exists, the next Open checks the whole database. Other starts skip this
// check, because it takes long on a large database.
func suspectPath(path string) string { return path + ".suspect" }

func (f *File) suspect(cause error) {
	f.log.Error("database damaged: checked and replaced at the next start", "path", f.path, "cause", cause)
	if err := os.WriteFile(suspectPath(f.path), []byte(cause.Error()+"\n"), Mode); err != nil {
		f.log.Error("cannot remember the damage", "path", f.path, "cause", err)
	}
}

// A disk fault may change the header: the number that identifies the host's database, or the schema version. A wrong
// version may look right, because with one flipped bit, 13 reads as 5 or as 141. So repairHeader finds out the version
// from the tables, corrects the header and returns the version. Other parts may be damaged too, so the next Open checks
// the whole database.
func (f *File) repairHeader(ctx context.Context, conn *sql.Conn, stored, newest int) (version int, err error) {
	var id uint32
	if err := conn.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return 0, err
	}
	version = stored
	if stored != newest && !isOfNewerHost(stored, newest) {
		err = conn.Raw(func(c any) error {
			real, err := versionOf(c.(driver.Conn).Raw(), stored)
			if real > 0 {
				version = real
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	if id == ApplicationID && version == stored {
		return version, nil
	}
	f.suspect(fmt.Errorf("its header has application id %#x instead of %#x, and version %d instead of %d", id, ApplicationID, stored, version))
	_, err = conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, ApplicationID, version))
	return version, err
}

// No release will have a schema version above highestVersion. A damaged number is usually higher.
const highestVersion = 10_000

// isOfNewerHost reports whether a newer release may have written this version. Only the number can show this, because a
// newer release may have the same tables.
func isOfNewerHost(stored, newest int) bool { return newest < stored && stored < highestVersion }

// suspectOrphans looks for units whose session is missing. A damaged page of the table of sessions may look empty. Its
// sessions then seem never to have existed, and only their units are left. Without this check, the host would treat
// those sessions as new. The query reads only a few rows of each session.
func (f *File) suspectOrphans(ctx context.Context, conn *sql.Conn) error {
	var session string
	err := conn.QueryRowContext(ctx, `
		SELECT session_id FROM unit_sums
		WHERE (harness, session_id) NOT IN (SELECT harness, session_id FROM sessions)`).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		f.suspect(fmt.Errorf("it holds units of session %s, but not the session", session))
	}
	return err
}

// checkSuspect does nothing unless the marker file exists. If it exists, checkSuspect checks the whole database, and
// rebuilds indexes that contradict their tables. For any other damage, and for lost rows, it returns errCorrupt.
func (f *File) checkSuspect(ctx context.Context, conn *sql.Conn) error {
	if !exists(suspectPath(f.path)) {
		return nil
	}
	verdict, err := integrity(ctx, conn)
	if err != nil {
		return fmt.Errorf("check suspect database: %w", err)
	}
	if verdict != sound {
		f.log.Warn("indexes of the database are built anew", "path", f.path, "cause", verdict)
		if _, err := conn.ExecContext(ctx, `REINDEX`); err != nil && ctx.Err() == nil {
			return fmt.Errorf("%w: %s; its indexes cannot be built anew: %w", errCorrupt, verdict, err)
		}
		if verdict, err = integrity(ctx, conn); err != nil {
			return fmt.Errorf("check suspect database: %w", err)
		}
	}
	if verdict != sound {
		return fmt.Errorf("%w: %s", errCorrupt, verdict)
	}
	f.isSound = true
	f.log.Warn("suspect database found sound", "path", f.path)
	return removeIfExists(suspectPath(f.path))
}

const sound = "ok"

// integrity runs integrity_check, because quick_check does not compare the indexes with their tables. Neither of them
// notices a page that was overwritten with an old copy of another page. So integrity also looks for rows whose session
// is missing, and for sessions that have fewer units than were counted.
func integrity(ctx context.Context, conn *sql.Conn) (verdict string, err error) {
	for _, query := range []string{
		`PRAGMA integrity_check(1)`,
		`SELECT 'a row of ' || "table" || ' has no parent in ' || parent FROM pragma_foreign_key_check`,
		missingUnits,
	} {
		err = conn.QueryRowContext(ctx, query).Scan(&verdict)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return "", err
		}
		if err == nil && verdict != sound {
			return verdict, nil
		}
	}
	return sound, nil
}

// missingUnits finds a session that holds fewer units than were counted when they were stored.
const missingUnits = `
	SELECT 'session ' || s.session_id || ' holds fewer units than were counted'
	FROM unit_sums AS s
	WHERE s.units > (SELECT count(*) FROM units AS u WHERE u.harness = s.harness AND u.session_id = s.session_id)`

// Explain wraps an error of SQLite in one of this package's errors, so that callers can test for it. If the error means
// damage, the next start checks the database.
//
// A duplicate row means damage too. The host looks for a row before it adds one, so if SQLite refuses the row as a
// duplicate, an index contains a row that its table lacks. But after Open has found the whole database sound, a
// duplicate does not mean damage.
func (f *File) Explain(ctx context.Context, err error) error {
	isTwice := !f.isSound && isAny(err, sqlite3.CONSTRAINT_UNIQUE, sqlite3.CONSTRAINT_PRIMARYKEY)
	if isTwice || meansDamage(err) {
		f.suspect(err)
	}
	if isTwice {
		err = fmt.Errorf("%w: %w: %w", ErrCannotPersist, ErrDamaged, err)
	}
	return explain(ctx, err)
}
