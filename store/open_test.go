package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/store/file"
)

func assertIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error is %v, want %v", err, target)
	}
}

func TestEmptyDirectoryIsMigratedToTheNewestSchema(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	newest := file.Released()[len(file.Released())-1].Version
	if s.SchemaVersion() != newest {
		t.Errorf("version is %d, want %d", s.SchemaVersion(), newest)
	}
	if s.Path() != filepath.Join(dir, "magicctx.db") {
		t.Errorf("path is %s", s.Path())
	}
	if s.Recovered() != "" {
		t.Errorf("recovered is %q", s.Recovered())
	}
	if copies := glob(t, dir, "*.bak*"); len(copies) != 0 {
		t.Errorf("an empty database was copied: %v", copies)
	}
}

func nextMigrations(n int) []file.Migration {
	all := file.Released()
	for range n {
		version := all[len(all)-1].Version + 1
		all = append(all, file.Migration{Version: version, Name: "test", SQL: fmt.Sprintf(`CREATE TABLE test_%d (x INTEGER) STRICT`, version)})
	}
	return all
}

func openVersion(t *testing.T, dir string, migrations []file.Migration) *Store {
	t.Helper()
	s, err := open(t.Context(), options(dir), migrations)
	must(t, err)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func newestVersion() int {
	released := file.Released()
	return released[len(released)-1].Version
}

func TestDatabaseIsCopiedBeforeAMigration(t *testing.T) {
	dir := t.TempDir()
	base := newestVersion()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	must(t, s.Close())

	for n := 1; n <= 3; n++ {
		s := openVersion(t, dir, nextMigrations(n))
		if s.SchemaVersion() != base+n {
			t.Errorf("version is %d, want %d", s.SchemaVersion(), base+n)
		}
		if units := load(t, s, key).Units; len(units) != 2 {
			t.Errorf("%d units after the migration", len(units))
		}
		must(t, s.Close())
	}
	want := []string{fmt.Sprintf("magicctx.db.v%d.bak", base+1), fmt.Sprintf("magicctx.db.v%d.bak", base+2)}
	same(t, "copies", glob(t, dir, "*.bak*"), want)

	// The schema version is in the name of the copy.
	restored := t.TempDir()
	must(t, os.Rename(filepath.Join(dir, want[0]), file.PathIn(restored)))
	s = openVersion(t, restored, nextMigrations(1))
	if units := load(t, s, key).Units; len(units) != 2 {
		t.Errorf("%d units in the copy", len(units))
	}
	if copies := glob(t, restored, "*.bak"); len(copies) != 0 {
		t.Errorf("the copy was of an older version: %v", copies)
	}
}

func TestFailedMigrationChangesNothing(t *testing.T) {
	for name, sql := range map[string]string{
		"syntax":      `CREATE TABLE half (x INTEGER) STRICT; CREATE TABEL nonsense;`,
		"foreign key": `CREATE TABLE half (x INTEGER) STRICT; INSERT INTO edits (harness, session_id, tag, kind, pass) VALUES ('h', 'nobody', 1, 'drop', 1);`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openIn(t, dir)
			must(t, s.CommitPass(t.Context(), commit(key, 1)))
			must(t, s.Close())

			bad := append(file.Released(), file.Migration{Version: newestVersion() + 1, Name: "bad", SQL: sql})
			if s, err := open(t.Context(), options(dir), bad); err == nil {
				s.Close()
				t.Fatal("the migration succeeded")
			}
			s = openIn(t, dir) // the database still has the old version, and is neither marked nor locked
			if units := load(t, s, key).Units; len(units) != 2 {
				t.Errorf("%d units", len(units))
			}
			var n int
			must(t, s.Writer().QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'half'`).Scan(&n))
			if n != 0 {
				t.Error("half of the migration stayed")
			}
		})
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	newer := openVersion(t, dir, nextMigrations(2))
	must(t, newer.Close())
	before := readFile(t, newer.Path())

	_, err := Open(t.Context(), options(dir))
	assertIs(t, err, file.ErrNewerSchema)
	base := newestVersion()
	for _, part := range []string{strconv.Itoa(base + 2), "up to " + strconv.Itoa(base), "update magicctx-host"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q: %v", part, err)
		}
	}
	if !bytes.Equal(readFile(t, newer.Path()), before) {
		t.Error("the refused database was changed")
	}
}

func glob(t testing.TB, dir, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	must(t, err)
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}
