//go:build unix

package dashboard

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/store/storetest"
)

// The browser sends the id of a session. Even if the id looks like a path, the dashboard must not open a file at this
// path. The file could be a trace in another directory, or a named pipe, which would block. Error messages must not
// contain the path of the data directory.
func TestAReplayOpensNoPath(t *testing.T) {
	s := serve(t).enter()
	s.record("short.jsonl.gz")
	elsewhere := filepath.Join(t.TempDir(), "pipe")
	storetest.Must(t, syscall.Mkfifo(elsewhere, 0o600))
	for _, session := range []string{"", elsewhere, filepath.Join("..", "..", "..", "testdata", "traces", "short.jsonl.gz")} {
		for _, action := range []string{"share", "what-if"} {
			body, err := json.Marshal(map[string]any{"action": action, "harness": "opencode", "session": session, "trial": map[string]string{"window": "100k"}})
			storetest.Must(t, err)
			s.api("POST", "/api/replay", string(body))
			if state := s.replayed(); !strings.Contains(state.Error, "no trace of this session") && !strings.Contains(state.Error, "name a session") {
				t.Errorf("%s of %q: %+v", action, session, state)
			}
		}
	}
	storetest.Must(t, os.RemoveAll(filepath.Join(s.dir, "traces")))
	storetest.Must(t, os.WriteFile(filepath.Join(s.dir, "traces"), nil, 0o600)) // no directory
	s.api("POST", "/api/replay", `{`+ofTrace+`,"action":"share"}`)
	if state := s.replayed(); !strings.Contains(state.Error, "traces") || strings.Contains(state.Error, s.dir) {
		t.Errorf("%+v", state)
	}
}
