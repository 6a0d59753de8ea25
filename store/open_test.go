package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
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
	newest := released()[len(released())-1].version
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

func TestMigrationNumbersAreConsecutive(t *testing.T) {
	for i, m := range released() {
		if m.version != i+1 {
			t.Errorf("%s stands at place %d", m.name, i+1)
		}
	}
}

// nextMigrations returns the released migrations and n further ones.
func nextMigrations(n int) []migration {
	all := released()
	for range n {
		version := all[len(all)-1].version + 1
		all = append(all, migration{version, "test", fmt.Sprintf(`CREATE TABLE test_%d (x INTEGER) STRICT`, version)})
	}
	return all
}

func openVersion(t *testing.T, dir string, migrations []migration) *Store {
	t.Helper()
	s, err := open(t.Context(), options(dir), migrations)
	must(t, err)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func TestDatabaseIsCopiedBeforeAMigration(t *testing.T) {
	dir := t.TempDir()
	base := len(released())
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
	want := []string{copyPath("magicctx.db", base+1), copyPath("magicctx.db", base+2)}
	same(t, "copies", glob(t, dir, "*.bak*"), want)

	// A copy is a complete database with the schema version in its name.
	restored := t.TempDir()
	must(t, os.Rename(filepath.Join(dir, want[0]), filepath.Join(restored, fileName)))
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

			bad := append(released(), migration{len(released()) + 1, "bad", sql})
			if s, err := open(t.Context(), options(dir), bad); err == nil {
				s.Close()
				t.Fatal("the migration succeeded")
			}
			s = openIn(t, dir) // still at the old version, neither fenced nor locked
			if units := load(t, s, key).Units; len(units) != 2 {
				t.Errorf("%d units", len(units))
			}
			var n int
			must(t, s.write.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name = 'half'`).Scan(&n))
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
	assertIs(t, err, ErrNewerSchema)
	base := len(released())
	for _, part := range []string{strconv.Itoa(base + 2), "up to " + strconv.Itoa(base), "update magicctx-host"} {
		if err != nil && !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %q: %v", part, err)
		}
	}
	if !bytes.Equal(readFile(t, newer.Path()), before) {
		t.Error("the refused database was changed")
	}
}

func TestForeignDatabaseIsRefusedUntouched(t *testing.T) {
	for name, setUp := range map[string]string{
		"no application id":    `PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1);`,
		"other application id": `PRAGMA application_id = 42; CREATE TABLE t (x);`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			conn, err := sqlite3.Open(path)
			must(t, err)
			must(t, conn.Exec(setUp))
			must(t, conn.Close())
			before := readFile(t, path)
			info, err := os.Stat(path)
			must(t, err)

			_, err = Open(t.Context(), options(dir))
			assertIs(t, err, ErrForeign)
			if !bytes.Equal(readFile(t, path), before) {
				t.Error("the foreign database was changed")
			}
			after, err := os.Stat(path)
			must(t, err)
			if after.ModTime() != info.ModTime() || after.Mode() != info.Mode() {
				t.Error("the foreign database was touched")
			}
			same(t, "files", glob(t, dir, "*"), []string{fileName, lockName})
		})
	}
}

func TestSecondStoreOfAProcessIsTurnedAway(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	_, err := Open(t.Context(), options(dir))
	assertIs(t, err, ErrLocked)
	if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("pid %d,", os.Getpid())) {
		t.Errorf("error does not name the pid: %v", err)
	}
	must(t, s.Close())
	openIn(t, dir)
	if !exists(filepath.Join(dir, lockName)) {
		t.Error("the lock file was removed")
	}
}

func TestRealDatabaseIsRefusedUnderTest(t *testing.T) {
	real := DefaultDir(os.Getenv)
	if real == "" {
		t.Skip("no home directory")
	}
	before := exists(real)
	_, err := Open(t.Context(), options(real))
	assertIs(t, err, errRealDatabase)
	if exists(real) != before {
		t.Error("the real directory was created")
	}
}

func TestRefuseRealSeesThroughDetours(t *testing.T) {
	root := t.TempDir()
	home, xdg, data := filepath.Join(root, "home"), filepath.Join(root, "xdg"), filepath.Join(root, "data")
	env := func(name string) string {
		return map[string]string{"HOME": home, "XDG_DATA_HOME": xdg, "MAGIC_CONTEXT_DATA_DIR": data}[name]
	}
	inHome := filepath.Join(home, ".local", "share", "cortexkit", "magic-context")
	must(t, os.MkdirAll(filepath.Dir(inHome), 0o700))
	link := filepath.Join(root, "link")
	must(t, os.Symlink(filepath.Dir(inHome), link))
	temporary := filepath.Join(root, "tmp")

	for _, dir := range []string{
		data, // named by the override
		filepath.Join(xdg, "cortexkit", "magic-context"), // hidden by the override
		inHome, // hidden by both
		filepath.Join(home, "..", "home", ".local", "share", "cortexkit", "magic-context") + "/",
		filepath.Join(link, "magic-context"),
	} {
		assertIs(t, refuseReal(dir, temporary, env), errRealDatabase)
	}
	if err := refuseReal(filepath.Join(root, "elsewhere"), temporary, env); err != nil {
		t.Error(err)
	}
	// Even if a test empties its environment, the account still has a home
	// directory.
	account, err := user.Current()
	must(t, err)
	accountDir := filepath.Join(account.HomeDir, ".local", "share", "cortexkit", "magic-context")
	assertIs(t, refuseReal(accountDir, temporary, func(string) string { return "" }), errRealDatabase)
	// The end-to-end tests tell the binary its directory by the same variable.
	if err := refuseReal(data, root, env); err != nil {
		t.Error(err)
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
