package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/file"
)

const pageBytes = 4096

func filled(t *testing.T) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	s := openIn(t, dir)
	for n := 1; n <= 200; n++ {
		must(t, s.CommitPass(t.Context(), commit(key, n)))
	}
	must(t, s.Close())
	return dir, s.Path()
}

func damage(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	must(t, os.WriteFile(path, change(readFile(t, path)), 0o600))
}

func overwrite(data []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		data[i] ^= 0xa5
	}
	return data
}

func TestDamagedDatabaseIsMovedAside(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"garbage":               func([]byte) []byte { return bytes.Repeat([]byte("not a database "), 1000) },
		"a few bytes":           func(d []byte) []byte { return d[:60] },
		"truncated":             func(d []byte) []byte { return d[:len(d)/2/pageBytes*pageBytes] },
		"truncated inside page": func(d []byte) []byte { return d[:3*pageBytes+17] },
		"header overwritten":    func(d []byte) []byte { return overwrite(d, 0, 16) },
		"first page flipped":    func(d []byte) []byte { return overwrite(d, 100, pageBytes) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := filled(t)
			damage(t, path, change)
			broken := readFile(t, path)
			assertReplaced(t, dir, func(moved string) {
				if !bytes.Equal(readFile(t, moved), broken) {
					t.Error("the damaged file was changed")
				}
			})
		})
	}
}

func assertReplaced(t *testing.T, dir string, look func(moved string)) {
	t.Helper()
	var log bytes.Buffer
	s, err := Open(t.Context(), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil)), Clock: clock.NewManual(now)})
	must(t, err)
	defer closeStore(t, s)
	want := filepath.Join(dir, fmt.Sprintf("magicctx.db.corrupt-%d", now))
	if s.Recovered() != want {
		t.Fatalf("recovered is %q, want %q", s.Recovered(), want)
	}
	look(want)
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), want) {
		t.Errorf("log does not say it: %s", log.String())
	}
	if _, found, err := s.Load(t.Context(), key); found || err != nil {
		t.Errorf("the new database is not empty: %v, %v", found, err)
	}
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
}

func TestSidecarsMoveWithTheDamagedDatabase(t *testing.T) {
	dir, path := filled(t)
	damage(t, path, func([]byte) []byte { return []byte("garbage, long enough to be no header of any kind") })
	must(t, os.WriteFile(path+"-wal", []byte("log"), 0o600))
	must(t, os.WriteFile(path+"-shm", []byte("index"), 0o600))
	assertReplaced(t, dir, func(moved string) {
		if got := string(readFile(t, moved+"-wal")) + string(readFile(t, moved+"-shm")); got != "logindex" {
			t.Errorf("sidecars hold %q", got)
		}
	})
}

func TestLogWithoutItsDatabaseIsKept(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := filled(t)
			must(t, lose(path))
			must(t, os.WriteFile(path+"-wal", []byte("log"), 0o600))
			assertReplaced(t, dir, func(moved string) {
				if got := string(readFile(t, moved+"-wal")); got != "log" {
					t.Errorf("the log holds %q", got)
				}
			})
		})
	}
}

// Open does not find damage after the first page. If a later statement finds it, the host stops writing, and the next
// start replaces the database.
func TestDamageFoundLaterIsRepairedAtTheNextStart(t *testing.T) {
	dir, path := filled(t)
	s := openIn(t, dir)
	var root int
	must(t, s.Writer().QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'units'`).Scan(&root))
	must(t, s.Close())
	damage(t, path, func(d []byte) []byte { return overwrite(d, (root-1)*pageBytes, root*pageBytes) })

	s = openIn(t, dir)
	if s.Recovered() != "" {
		t.Fatal("the damage was found by a full check, which Open must not pay for")
	}
	_, _, err := s.Load(t.Context(), key)
	assertIs(t, err, ErrCannotPersist)
	must(t, s.Close())
	assertReplaced(t, dir, func(string) {})

	again := openIn(t, dir)
	if again.Recovered() != "" {
		t.Error("the sound database was suspected again")
	}
}

func TestSuspectWithoutDamageIsKept(t *testing.T) {
	dir, path := filled(t)
	must(t, os.WriteFile(path+".suspect", []byte("a bad cable\n"), 0o600))
	s := openIn(t, dir)
	if s.Recovered() != "" {
		t.Errorf("recovered is %q", s.Recovered())
	}
	if got := load(t, s, key).Session.Passes; got != 200 {
		t.Errorf("%d passes", got)
	}
	if _, err := os.Stat(path + ".suspect"); err == nil {
		t.Error("the suspicion stays")
	}
}

// A power cut can leave the end of the write-ahead log half written. SQLite ignores frames with a wrong checksum, so
// the host must not treat such a log as damage.
func TestTornLogIsNoDamage(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	image := readFile(t, s.Path())
	log := readFile(t, s.Path()+"-wal")
	must(t, s.CommitPass(t.Context(), commit(key, 2)))
	longer := readFile(t, s.Path()+"-wal")
	must(t, s.Close())
	if len(longer) <= len(log) || binary.BigEndian.Uint32(longer)>>1 != 0x377f0682>>1 {
		t.Fatalf("the log has %d bytes, then %d", len(log), len(longer))
	}

	copied := t.TempDir()
	path := file.PathIn(copied)
	must(t, os.WriteFile(path, image, 0o600))
	must(t, os.WriteFile(path+"-wal", overwrite(longer, len(log)+100, len(log)+200), 0o600))
	s = openIn(t, copied)
	if s.Recovered() != "" {
		t.Fatal("a torn log was taken for damage")
	}
	if got := load(t, s, key).Session.Passes; got != 1 {
		t.Errorf("%d passes, want the one before the tear", got)
	}
}

// Fixed bug: the host never deleted the damaged databases that it had moved aside. Now only the newest ones stay.
func TestB10OnlyTheNewestDamagedDatabasesStay(t *testing.T) {
	dir, path := filled(t)
	for n := range 5 {
		must(t, os.WriteFile(fmt.Sprintf("%s.corrupt-%d", path, 100+n), []byte("x"), 0o600))
		must(t, os.WriteFile(fmt.Sprintf("%s.corrupt-%d-wal", path, 100+n), []byte("x"), 0o600))
	}
	must(t, os.WriteFile(path+".v3.bak.partial", []byte("x"), 0o600))
	must(t, os.WriteFile(path+".corrupt-notes", []byte("a user's own"), 0o600))
	must(t, openIn(t, dir).Close())
	var want []string
	for _, suffix := range []string{".corrupt-103", ".corrupt-103-wal", ".corrupt-104", ".corrupt-104-wal", ".corrupt-notes"} {
		want = append(want, filepath.Base(path)+suffix)
	}
	got := append(glob(t, dir, "*.corrupt-*"), glob(t, dir, "*.partial")...)
	slices.Sort(got)
	same(t, "files", got, want)
}
