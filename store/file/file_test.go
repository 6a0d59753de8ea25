package file

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/ncruces/go-sqlite3"
	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(dir string) Options {
	return Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.NewManual(1_790_000_000_000)}
}

func openIn(t testing.TB, dir string) *File {
	t.Helper()
	f, err := openFile(t, dir)
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	return f
}

func openFile(t testing.TB, dir string) (*File, error) {
	nothing := func(*sqlite3.Conn) error { return nil }
	return Open(t.Context(), options(dir), Released(), nothing)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func assertIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error is %v, want %v", err, target)
	}
}

func schemaOf(t *testing.T, conn *sqlite3.Conn) (all []string) {
	t.Helper()
	must(t, Scan(conn, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid`, func(row *sqlite3.Stmt) {
		all = append(all, row.ColumnText(0))
	}))
	return all
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

			_, err = openFile(t, dir)
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

// No release can read a database of an unreleased build. So the host leaves it untouched, and its owner has to decide
// what to do.
func TestDatabaseOfAnUnreleasedBuildIsRefusedUntouched(t *testing.T) {
	dir := t.TempDir()
	path := PathIn(dir)
	must(t, create(path))
	conn, err := sqlite3.Open(path)
	must(t, err)
	must(t, conn.Exec(`PRAGMA journal_mode = WAL; CREATE TABLE sessions (x); INSERT INTO sessions VALUES (1); PRAGMA user_version = 23`))
	must(t, conn.Close())
	before := readFile(t, path)

	_, openErr := openFile(t, dir)
	viewErr := View(t.Context(), dir, func(*sqlite3.Conn) error { return nil })
	for _, err := range []error{openErr, viewErr} {
		assertIs(t, err, ErrOlderSchema)
		for _, part := range []string{path, "version 23", "move the file away, with its -wal"} {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not say %q: %v", part, err)
			}
		}
	}
	if !bytes.Equal(readFile(t, path), before) {
		t.Error("the database was changed")
	}
}

func TestSecondStoreOfAProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	f := openIn(t, dir)
	_, err := openFile(t, dir)
	assertIs(t, err, ErrLocked)
	if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("pid %d,", os.Getpid())) {
		t.Errorf("error does not name the pid: %v", err)
	}
	must(t, f.Close())
	openIn(t, dir)
	if !exists(filepath.Join(dir, lockName)) {
		t.Error("the lock file was removed")
	}
}

func TestRealDatabaseIsRefusedUnderTest(t *testing.T) {
	temporary := t.TempDir() // the home directory may be below the usual temporary directory, where every path is allowed
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temporary)
	}
	real := DefaultDir(os.Getenv)
	if real == "" {
		t.Skip("no home directory")
	}
	before := exists(real)
	_, err := openFile(t, real)
	assertIs(t, err, errRealDatabase)
	if exists(real) != before {
		t.Error("the real directory was created")
	}
}

func TestRefuseRealRecognisesEveryPath(t *testing.T) {
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
		data, // this is the directory that the override names
		filepath.Join(xdg, "cortexkit", "magic-context"), // the override hides this directory
		inHome, // both variables hide this directory
		filepath.Join(home, "..", "home", ".local", "share", "cortexkit", "magic-context") + "/",
		filepath.Join(link, "magic-context"),
	} {
		assertIs(t, refuseReal(dir, temporary, env), errRealDatabase)
	}
	if err := refuseReal(filepath.Join(root, "elsewhere"), temporary, env); err != nil {
		t.Error(err)
	}
	// refuseReal must also recognise the database in the account's home directory if no environment variable names this
	// directory.
	account, err := user.Current()
	must(t, err)
	accountDir := filepath.Join(account.HomeDir, ".local", "share", "cortexkit", "magic-context")
	assertIs(t, refuseReal(accountDir, temporary, func(string) string { return "" }), errRealDatabase)
	// The end-to-end tests set this variable for the binary.
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

func TestDefaultDir(t *testing.T) {
	for _, test := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"override wins", map[string]string{"MAGIC_CONTEXT_DATA_DIR": "/data", "XDG_DATA_HOME": "/xdg", "HOME": "/home/u"}, "/data"},
		{"xdg", map[string]string{"XDG_DATA_HOME": "/xdg", "HOME": "/home/u"}, "/xdg/cortexkit/magic-context"},
		{"relative xdg is ignored", map[string]string{"XDG_DATA_HOME": "xdg", "HOME": "/home/u"}, "/home/u/.local/share/cortexkit/magic-context"},
		{"home", map[string]string{"HOME": "/home/u"}, "/home/u/.local/share/cortexkit/magic-context"},
		{"windows home", map[string]string{"USERPROFILE": "/users/u"}, "/users/u/.local/share/cortexkit/magic-context"},
		{"nothing known", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := DefaultDir(func(name string) string { return test.env[name] })
			if got != filepath.FromSlash(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPragmas(t *testing.T) {
	f := openIn(t, t.TempDir())
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "1", "foreign_keys": "1",
		"busy_timeout": "5000", "application_id": strconv.Itoa(ApplicationID),
	} {
		var got string
		must(t, f.write.QueryRowContext(t.Context(), `PRAGMA `+pragma).Scan(&got))
		if got != want {
			t.Errorf("%s is %s, want %s", pragma, got, want)
		}
	}
	if _, err := f.read.ExecContext(t.Context(), `DELETE FROM sessions`); err == nil {
		t.Error("a reading connection could write")
	}
}

func TestEmptyFileIsANewDatabase(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, fileName), nil, 0o644))
	if f := openIn(t, dir); f.Recovered() != "" {
		t.Errorf("recovered is %q", f.Recovered())
	}
}

// A host may be killed when the database already has the host's mark, but no tables yet. The next host must complete
// it.
func TestHalfCreatedDatabaseIsCompleted(t *testing.T) {
	dir := t.TempDir()
	must(t, create(filepath.Join(dir, fileName)))
	f := openIn(t, dir)
	if f.Recovered() != "" {
		t.Errorf("recovered is %q", f.Recovered())
	}
	if f.SchemaVersion() != newestVersion() {
		t.Errorf("schema is %d", f.SchemaVersion())
	}
}

func TestCutOffLogIsDamage(t *testing.T) {
	err := explain(t.Context(), fmt.Errorf("commit: %w", sqlite3.IOERR_SHORT_READ))
	if !errors.Is(err, ErrDamaged) || !errors.Is(err, ErrCannotPersist) {
		t.Errorf("got %v", err)
	}
	if err := explain(t.Context(), sqlite3.IOERR_WRITE); errors.Is(err, ErrDamaged) {
		t.Errorf("a disk that takes nothing is taken for damage: %v", err)
	}
}

// Fixed bug: SQLite found nothing wrong with these databases, but every pass failed on them.
func TestDatabaseWithAnotherSchemaIsDamaged(t *testing.T) {
	for _, change := range []string{
		"DROP TABLE units",
		"ALTER TABLE passes RENAME TO others; CREATE VIEW passes AS SELECT * FROM others",
		"PRAGMA user_version = -5",
	} {
		dir := t.TempDir()
		f, err := openFile(t, dir)
		must(t, err)
		_, err = f.Writer().ExecContext(t.Context(), change)
		must(t, err)
		must(t, f.Close())
		x, err := Examine(t.Context(), dir)
		must(t, err)
		if len(x.Damage) == 0 {
			t.Errorf("%s: doctor finds no damage", change)
		}
		f = openIn(t, dir)
		// The host can see the schema's version from the tables. So it corrects a wrong user_version, instead of moving
		// the database aside.
		isRepaired := strings.HasPrefix(change, "PRAGMA user_version")
		if isAside := f.Recovered() != ""; isAside == isRepaired || f.SchemaVersion() != newestVersion() {
			t.Errorf("%s: moved aside %v, version %d", change, isAside, f.SchemaVersion())
		}
	}
}

// Fixed bug: another program had put a trigger into the database. On the next pass, the trigger deleted all units, and
// no check reported it.
func TestPlantedTriggersNeverRun(t *testing.T) {
	for _, open := range map[string]func(dir string){
		"host": func(dir string) { openIn(t, dir).Close() },
		"edit": func(dir string) {
			must(t, Edit(t.Context(), dir, func(c *sqlite3.Conn) error { return nil }))
		},
	} {
		dir := t.TempDir()
		openIn(t, dir).Close()
		plant, err := sqlite3.Open(PathIn(dir))
		must(t, err)
		before := schemaOf(t, plant)
		must(t, plant.Exec(`
			CREATE TRIGGER "a ""b" AFTER INSERT ON passes BEGIN DELETE FROM units; END;
			CREATE VIEW v AS SELECT * FROM units;
			CREATE TRIGGER w INSTEAD OF INSERT ON v BEGIN DELETE FROM units; END`))
		must(t, plant.Close())
		found, err := Examine(t.Context(), dir)
		must(t, err)
		same(t, "planted", found.Planted, []string{`trigger a "b`, "trigger w", "view v"})
		open(dir)
		again, err := Examine(t.Context(), dir)
		must(t, err)
		same(t, "planted after an opening", len(again.Planted), 0)
		c, err := sqlite3.Open(PathIn(dir))
		must(t, err)
		same(t, "schema", schemaOf(t, c), before)
		must(t, c.Close())
	}
}

// Fixed bug: if there was a directory in place of the database, the error told the user to free space on the disk.
func TestDirectoryInPlaceOfTheDatabaseIsForeign(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(PathIn(dir), 0o700))
	_, err := openFile(t, dir)
	assertIs(t, err, ErrForeign)
}
