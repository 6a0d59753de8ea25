package fault

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// socketFaults makes the directory of the socket unusable. If the host can use another directory, the user must notice
// nothing. If it cannot, the user must get a notice.
func (s *scene) socketFaults() {
	runtime := filepath.Join(s.user.Home.Runtime, "magicctx")
	temporary := filepath.Join(s.user.Home.Temp, "magicctx-"+strconv.Itoa(os.Getuid()))

	s.in("another place for the socket", func() {
		var restore func()
		s.whileDown(func() { restore = block(s.t, runtime) })
		s.forgetNotices()
		s.treatsInTime()
		s.toldNothing()
		s.explained(" messages", "permissions: "+runtime+" is no directory")
		s.socketIn(temporary)
		s.whileDown(restore)
		s.works()
		s.toldNothing()
		s.socketIn(runtime)
	})
	s.in("no place for the socket", func() {
		var restore []func()
		s.whileDown(func() {
			for _, dir := range []string{runtime, temporary, filepath.Join(s.user.DataDir, "run")} {
				restore = append(restore, block(s.t, dir))
			}
		})
		s.suffers("no directory for the socket", runtime)
		s.explained("no directory for the socket: "+runtime+" is no directory", "host: there is no directory for the host's socket", "permissions: "+runtime+" is no directory",
			"permissions: "+temporary+" is no directory", "permissions: "+filepath.Join(s.user.DataDir, "run")+" is no directory")
		for _, undo := range restore {
			undo()
		}
		s.recovers()
	})
}

// block puts a file in the place of a directory. Not even root can use a file as a directory.
func block(t *testing.T, dir string) (restore func()) {
	t.Helper()
	err := os.Rename(dir, dir+".away")
	wasThere := err == nil
	if !wasThere && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	must(t, os.WriteFile(dir, nil, 0o600))
	return func() {
		must(t, os.Remove(dir))
		if wasThere {
			must(t, os.Rename(dir+".away", dir))
		}
	}
}
