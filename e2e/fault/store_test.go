package fault

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/store/file"
)

// With each of these faults, the host cannot open its store. It must run nevertheless, and report the reason.
func (s *scene) storeFaults() {
	path := file.PathIn(s.user.DataDir)

	s.in("locked by another host", func() {
		lock := flock.New(filepath.Join(s.user.DataDir, "magicctx.lock"))
		s.whileDown(func() {
			held, err := lock.TryLock()
			must(s.t, err)
			if !held {
				s.t.Fatal("the stopped host still holds its lock")
			}
		})
		s.suffers("in use by another host", "end that process")
		s.explained("in use by another host", "host: in use by another host")
		must(s.t, lock.Unlock())
		s.recovers()
	})
	s.in("schema from the future", func() {
		var version int
		s.whileDown(func() {
			version = userVersion(s.t, path, 0)
			userVersion(s.t, path, version+1000)
		})
		s.suffers("update magicctx-host")
		s.explained("written by a newer magicctx-host", "host: written by a newer magicctx-host", fmt.Sprintf("store: of schema %d", version+1000))
		userVersion(s.t, path, version)
		s.recovers()
	})
	s.in("no file can be opened", func() {
		s.whileDown(func() {
			must(s.t, os.Rename(path, path+".away"))
			must(s.t, os.Mkdir(path, 0o700))
		})
		s.suffers("the database")
		s.explained("is a directory", "host: is a directory", "store: is a directory")
		must(s.t, os.Remove(path))
		must(s.t, os.Rename(path+".away", path))
		s.recovers()
	})
	// The host repairs this fault as soon as it finds it. So even the first prompt after the fault works as usual.
	mended := func() {
		s.treatsInTime()
		s.told("was damaged", "moved to "+path+".corrupt-")
		s.explained("the database was damaged; it was moved to "+path+".corrupt-",
			"host: it was moved to "+path+".corrupt-", "store: moved aside")
		s.recovers()
	}
	s.in("corrupt at start", func() {
		s.forgetNotices()
		s.whileDown(func() {
			corrupt(s.t, path)
			s.isDamaged() // a host repairs this damage when it starts
		})
		mended()
	})
	s.in("corrupt in the middle of its life", func() {
		s.forgetNotices()
		awaitQuiet(s.t, path) // wait, because a host that writes later would repair the damage before doctor looks
		// SQLite keeps pages in memory, so the host might not notice the damage for a long time. A write by another
		// program makes SQLite read the pages again.
		userVersion(s.t, path, userVersion(s.t, path, 0))
		for _, file := range []string{path, path + "-wal"} { // the newest pages are in the write-ahead log
			corrupt(s.t, file)
		}
		s.isDamaged()
		mended()
	})
}

// isDamaged checks that doctor finds the damage. It must run before the next prompt, because the prompt would make the
// host find and repair the damage.
func (s *scene) isDamaged() {
	s.t.Helper()
	for _, f := range s.findings() {
		if f.Check == "store" && f.Level == doctor.Fail && strings.Contains(f.Message, "the database is damaged") {
			return
		}
	}
	s.t.Error("doctor finds no damage")
}

// corrupt overwrites the file in place. If it replaced the file, a running host would keep using the old one.
func corrupt(t *testing.T, path string) {
	t.Helper()
	must(t, os.WriteFile(path, bytes.Repeat([]byte("not a database "), 5000), 0o600))
}

// awaitQuiet waits until nothing has been written to the database for a second. This is necessary because the harness
// reports the usage only after a prompt has returned.
func awaitQuiet(t *testing.T, path string) {
	t.Helper()
	db := openDatabase(t, path)
	defer db.Close()
	version, quiet := pragma(t, db, "data_version"), time.Now() // commits of other connections change data_version
	for deadline := quiet.Add(30 * time.Second); time.Since(quiet) < time.Second; time.Sleep(20 * time.Millisecond) {
		if now := pragma(t, db, "data_version"); now != version {
			version, quiet = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still being written", path)
		}
	}
}

// userVersion returns the schema version of the database. If `to` is not 0, it then sets the version to `to`.
func userVersion(t *testing.T, path string, to int) int {
	t.Helper()
	db := openDatabase(t, path)
	defer db.Close()
	version := pragma(t, db, "user_version")
	if to != 0 {
		must(t, db.Exec("PRAGMA user_version = "+strconv.Itoa(to)))
	}
	return version
}

func openDatabase(t *testing.T, path string) *sqlite3.Conn {
	t.Helper()
	db, err := sqlite3.Open(path)
	must(t, err)
	must(t, db.BusyTimeout(10*time.Second))
	return db
}

func pragma(t *testing.T, db *sqlite3.Conn, name string) int {
	t.Helper()
	stmt, _, err := db.Prepare("PRAGMA " + name)
	must(t, err)
	defer stmt.Close()
	if !stmt.Step() {
		t.Fatalf("PRAGMA %s: %v", name, stmt.Err())
	}
	return stmt.ColumnInt(0)
}

// diskFaults needs a file system of its own, to fill it up. If the test cannot mount one, it skips these faults. The
// store's own tests simulate the same errors on every machine.
func (s *scene) diskFaults() {
	s.in("full", func() {
		s.needsMount()
		filler := filepath.Join(s.user.DataDir, "filler")
		fill(s.t, filler)
		s.suffers("the database cannot be written", "make room")
		s.explained("the database cannot be written", "host: the database cannot be written", "disk: 0 KB are left")
		must(s.t, os.Remove(filler))
		s.recovers()
	})
	s.in("read-only", func() {
		s.needsMount()
		// Linux refuses to make a file system read-only while a file in it is open for writing, so the host must be
		// down.
		s.whileDown(func() { must(s.t, s.mount("-o", "remount,ro", s.user.DataDir)) })
		s.suffers("read-only file system")
		s.explained("read-only file system", "host: read-only file system", "permissions: "+s.user.DataDir+": read-only file system")
		must(s.t, s.mount("-o", "remount,rw", s.user.DataDir))
		s.recovers()
	})
}

// mountData mounts a disk of 64 MB at the data directory. It is small, so the test can fill it, but doctor still
// accepts it. If the mount fails, the tests of disk faults are skipped.
func (s *scene) mountData() {
	s.t.Helper()
	must(s.t, os.MkdirAll(s.user.DataDir, 0o700))
	if err := s.mount("-t", "tmpfs", "-o", "size=64m,mode=0700", "magicctx-test", s.user.DataDir); err != nil {
		s.t.Log(err)
		return
	}
	s.isMounted = true
	s.t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", s.user.DataDir).CombinedOutput(); err != nil {
			s.t.Errorf("%v: %s", err, out)
		}
	})
}

func (s *scene) needsMount() {
	s.t.Helper()
	if !s.isMounted {
		s.t.Skip("no disk can be mounted here")
	}
}

func (s *scene) mount(args ...string) error {
	if out, err := exec.CommandContext(s.ctx, "mount", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("mount %v: %w: %s", args, err, out)
	}
	return nil
}

func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	for size := 64 << 10; size > 0; {
		if _, err := file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}
