package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/store/file"
)

// Whatever was damaged, the user's next passes must be stored. The first pass may fail with ErrDamaged; the host then
// opens the store again. Two bugs were fixed here. First, a changed application id disabled magicctx until the user
// moved the file away. Second, the table and its index could disagree about a damaged unit key, and then each pass
// failed with a UNIQUE error.
func TestEachDamagedDatabaseIsRepairedOrMovedAside(t *testing.T) {
	closed := t.TempDir()
	s := openIn(t, closed)
	for n := 1; n <= 40; n++ {
		must(t, s.CommitPass(t.Context(), commit(key, n)))
		must(t, s.CommitPass(t.Context(), commit(Key{"pi", "ses_2"}, n)))
	}
	killed := t.TempDir()
	for _, suffix := range []string{"", "-wal"} {
		must(t, os.WriteFile(file.PathIn(killed)+suffix, readFile(t, s.Path()+suffix), 0o600))
	}
	must(t, s.Close())
	for seed := range uint64(damagedDatabases) {
		r := rand.New(rand.NewPCG(seed, 20))
		from, suffix := closed, ""
		if r.IntN(4) == 0 {
			from, suffix = killed, []string{"", "-wal"}[r.IntN(2)]
		}
		dir := t.TempDir()
		for _, path := range []string{file.PathIn(""), file.PathIn("") + "-wal"} {
			if data, err := os.ReadFile(filepath.Join(from, path)); err == nil {
				must(t, os.WriteFile(filepath.Join(dir, path), data, 0o600))
			}
		}
		var name string
		damage(t, file.PathIn(dir)+suffix, func(d []byte) []byte {
			var kind string
			kind, d = damageAny(r, d)
			name = fmt.Sprintf("seed %d: %s of %s%s", seed, kind, filepath.Base(from), suffix)
			return d
		})
		t.Run(name, func(t *testing.T) { goOn(t, dir, from == closed) })
	}
}

const damagedDatabases = 240

func damageAny(r *rand.Rand, d []byte) (kind string, damaged []byte) {
	at := r.IntN(len(d))
	switch r.IntN(7) {
	case 0:
		at = r.IntN(100)
		d[at] ^= 1 << r.IntN(8)
		return fmt.Sprintf("a bit of the header at %d", at), d
	case 1:
		d[at] ^= 1 << r.IntN(8)
		return fmt.Sprintf("a bit at %d", at), d
	case 2:
		return fmt.Sprintf("some bytes at %d", at), overwrite(d, at, min(len(d), at+1+r.IntN(200)))
	case 3:
		at = at / 512 * 512
		clear(d[at:min(len(d), at+512)])
		return fmt.Sprintf("a sector at %d", at), d
	case 4:
		return fmt.Sprintf("everything from %d", at), d[:at]
	case 5:
		at = at / pageBytes * pageBytes
		return fmt.Sprintf("the pages from %d", at), d[:at]
	}
	from, to := at/pageBytes*pageBytes, r.IntN(len(d))/pageBytes*pageBytes
	if max(from, to)+pageBytes > len(d) {
		return "nothing", d
	}
	copy(d[to:to+pageBytes], d[from:from+pageBytes])
	return fmt.Sprintf("the page at %d, which is now that of %d,", to, from), d
}

// goOn stores three passes. If the first attempt finds damage, goOn opens the store a second time, as a host would.
// isWhole means that the file contained all passes before it was damaged. In this case, goOn also checks that these
// passes still exist, or that the database was moved aside.
func goOn(t *testing.T, dir string, isWhole bool) {
	isAside := false
	for attempt := 1; ; attempt++ {
		s, err := Open(t.Context(), options(dir))
		must(t, err)
		isAside = isAside || s.Recovered() != ""
		var lost []string
		for _, key := range []Key{key, {"pi", "ses_2"}} {
			snap, _, loadErr := s.Load(t.Context(), key)
			if loadErr == nil && (snap.Session.Passes < 40 || len(snap.Units) < 80) {
				lost = append(lost, fmt.Sprintf("%s has %d passes and %d units", key, snap.Session.Passes, len(snap.Units)))
			}
		}
		err = passOn(t, s)
		closeStore(t, s)
		if err == nil {
			if isWhole && !isAside && lost != nil {
				t.Errorf("lost without a word: %s", lost)
			}
			return
		}
		if attempt == 2 || !errors.Is(err, ErrDamaged) {
			t.Fatalf("attempt %d: %v", attempt, err)
		}
	}
}

func passOn(t *testing.T, s *Store) error {
	for _, key := range []Key{key, {"pi", "ses_2"}} {
		for range 3 {
			snap, _, err := s.Load(t.Context(), key)
			if err != nil {
				return err
			}
			known := make(map[string]bool)
			for _, u := range snap.Units {
				known[u.UnitKey] = true
			}
			p := commit(key, snap.Session.Passes+1)
			p.Session.TagCounter = snap.Session.TagCounter
			p.Units = nil
			for n := 1; n <= 45; n++ {
				for _, u := range commit(key, n).Units {
					if !known[u.UnitKey] {
						p.Session.TagCounter++
						u.Tag = p.Session.TagCounter
						p.Units = append(p.Units, u)
					}
				}
			}
			if err := s.CommitPass(t.Context(), p); err != nil {
				return err
			}
		}
	}
	return nil
}
