package store

import (
	"errors"
	"os"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/store/file"
)

func TestExamineWhileAHostIsAtWork(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1))) // the pass is only in the write-ahead log
	x, err := file.Examine(t.Context(), dir)
	must(t, err)
	if !x.Exists || x.Sessions != 1 || x.Schema != s.SchemaVersion() || x.Schema != x.NewestSchema || len(x.Damage) > 0 || x.Bytes == 0 || file.LastOwner(dir) != os.Getpid() {
		t.Errorf("found %+v", x)
	}
	must(t, s.CommitPass(t.Context(), commit(key, 2)))
}

func TestExamineLeavesAnIdleDatabaseUsable(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	must(t, s.Close())
	x, err := file.Examine(t.Context(), dir)
	must(t, err)
	if x.Sessions != 1 || len(x.Damage) > 0 {
		t.Errorf("found %+v", x)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("left %s with mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	load(t, openIn(t, dir), key)
}

func TestExamineOfAMissingDatabaseCreatesNothing(t *testing.T) {
	dir := t.TempDir()
	x, err := file.Examine(t.Context(), dir)
	if err != nil || x.Exists {
		t.Errorf("found %+v, %v", x, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("made %v", entries)
	}
}

func TestExamineNamesDamage(t *testing.T) {
	for name, ruin := range map[string]func(t *testing.T, path string){
		"a page": func(t *testing.T, path string) {
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			defer file.Close()
			garbage := make([]byte, 64<<10)
			for i := range garbage {
				garbage[i] = byte(i * 7)
			}
			_, err = file.WriteAt(garbage, 4096)
			must(t, err)
		},
		"no database": func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("once upon a time there was a file"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openIn(t, dir)
			must(t, s.CommitPass(t.Context(), firstPass(2000)))
			must(t, s.Close())
			ruin(t, file.PathIn(dir))
			x, err := file.Examine(t.Context(), dir)
			if err != nil || len(x.Damage) == 0 || !x.Exists {
				t.Errorf("found %+v, %v", x, err)
			}
		})
	}
}

func TestExamineKnowsForeignAndNewerDatabases(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	_, err := s.Writer().Exec(`PRAGMA user_version = 99`)
	must(t, err)
	must(t, s.Close())
	x, err := file.Examine(t.Context(), dir)
	if err != nil || x.Schema != 99 || x.NewestSchema >= 99 {
		t.Errorf("newer: %+v, %v", x, err)
	}
	dir = t.TempDir()
	c, err := sqlite3.Open(file.PathIn(dir))
	must(t, err)
	must(t, c.Exec(`CREATE TABLE t (x)`))
	must(t, c.Close())
	if _, err := file.Examine(t.Context(), dir); !errors.Is(err, ErrForeign) {
		t.Errorf("foreign: %v", err)
	}
}
