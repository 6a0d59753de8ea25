package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func waitingFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.waiting-*"))
	must(t, err)
	return files
}

func TestWaitingUnitsAreLoadedUntilTheyAreStored(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	lost := commit(key, 2)
	lost.Units[0].UnitKey = "nul\x00 and \xed\xa0\x80"
	unlock := lockDatabase(t, dir)
	must(t, s.Waiting.Keep(key, lost.Units[:1]))
	must(t, s.Waiting.Keep(key, lost.Units))
	must(t, s.Close())

	s = openIn(t, dir)
	same(t, "waiting in a locked database", load(t, s, key).Waiting, lost.Units)
	if _, found, err := s.Load(t.Context(), Key{"opencode", "ses_other"}); found || err != nil {
		t.Errorf("another session: %v, %v", found, err)
	}
	unlock()
	must(t, s.CommitPass(t.Context(), lost))
	if got := load(t, s, key); len(got.Units) != 4 || len(got.Waiting) != 0 || len(waitingFiles(t, dir)) != 0 {
		t.Errorf("after the commit: %d units, %d wait, files %v", len(got.Units), len(got.Waiting), waitingFiles(t, dir))
	}

	// The host was killed before it removed the file.
	must(t, s.Waiting.Keep(key, lost.Units))
	if got := load(t, s, key); len(got.Units) != 4 || len(got.Waiting) != 0 {
		t.Errorf("stored units wait: %v", got.Waiting)
	}
	must(t, s.DeleteSession(t.Context(), key))
	if files := waitingFiles(t, dir); len(files) != 0 {
		t.Errorf("a deleted session leaves %v", files)
	}
}

// A new session may find the database locked.
func TestUnitsWaitForASessionThatWasNeverStored(t *testing.T) {
	s := openIn(t, t.TempDir())
	units := commit(key, 1).Units
	must(t, s.Waiting.Keep(key, units))
	snap, found, err := s.Load(t.Context(), key)
	if found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	same(t, "waiting", snap.Waiting, units)
}

func TestDamagedFileOfWaitingUnitsLosesNoSession(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	must(t, s.CommitPass(t.Context(), commit(key, 1)))
	must(t, s.Waiting.Keep(key, commit(key, 2).Units))
	must(t, os.Truncate(waitingFiles(t, dir)[0], 10))
	if got := load(t, s, key); len(got.Units) != 2 || len(got.Waiting) != 0 {
		t.Errorf("loaded %+v", got)
	}
}

func TestB10WaitingFilesExpire(t *testing.T) {
	s := openIn(t, t.TempDir())
	long := time.UnixMilli(now)
	must(t, s.Waiting.Keep(key, []UnitRow{{Tag: 9, UnitKey: "k"}}))
	must(t, s.Waiting.Keep(Key{"opencode", "fresh"}, []UnitRow{{Tag: 9, UnitKey: "k"}}))
	must(t, os.Chtimes(s.Waiting.path(key), long, long))
	must(t, s.Waiting.ForgetOld(long.Add(time.Hour)))
	_, oldErr := os.Stat(s.Waiting.path(key))
	_, newErr := os.Stat(s.Waiting.path(Key{"opencode", "fresh"}))
	if oldErr == nil || newErr != nil {
		t.Errorf("waiting files: %v, %v", oldErr, newErr)
	}
}
