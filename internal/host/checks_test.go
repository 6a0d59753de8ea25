package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// If the check of a memory fails, ctx_memory lists the memory as doubtful and gives the reason. If the model updates the
// memory and removes the check, the memory is no longer doubtful.
func TestMemoryWithAFailedCheckIsDoubtful(t *testing.T) {
	h := newHarness(t)
	h.project = t.TempDir()
	h.host.checks.After = time.Millisecond
	file := filepath.Join(h.project, "Taskfile.yml")
	must(t, os.WriteFile(file, []byte("cmd: go test"), 0o600))
	h.user("u1", "hello")
	h.pass()
	for args, want := range map[string]string{
		`{"action":"write","category":"NAMING","content":"Tests run with bun.","check":"../x"}`:                 "Error: check is \"PATH\", \"PATH: TEXT\"",
		`{"action":"write","category":"NAMING","content":"Tests run with go.","check":"Taskfile.yml: go test"}`: "Saved as memory 1",
	} {
		if got := h.memory(args); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", args, got)
		}
	}
	tests := func() {
		t.Helper()
		h.clock.Advance(10 * time.Minute)
		h.pass()
		h.host.background.Wait()
	}
	tests()
	if got := h.memory(`{"action":"list"}`); strings.Contains(got, "doubtful") {
		t.Error(got)
	}
	must(t, os.WriteFile(file, []byte("cmd: bun test"), 0o600))
	h.pass() // this pass comes soon after the last test, so it starts no test
	h.host.background.Wait()
	if got := h.memory(`{"action":"list","category":"NAMING"}`); strings.Contains(got, "doubtful") {
		t.Error(got)
	}
	tests()
	const line = `[doubtful: Taskfile.yml no longer has "go test"] Tests run with go.`
	if got := h.memory(`{"action":"list","ids":[]}`); !strings.Contains(got, line) {
		t.Error(got)
	}
	must(t, os.Remove(file))
	tests()
	if got := h.memory(`{"action":"list","ids":[1]}`); !strings.Contains(got, "[doubtful: Taskfile.yml is gone]") {
		t.Error(got)
	}
	must(t, os.Symlink("elsewhere", file))
	tests()
	if got := h.memory(`{"action":"list","ids":[1,1]}`); !strings.Contains(got, "[doubtful: Taskfile.yml cannot be checked]") {
		t.Error(got)
	}
	if got := h.memory(`{"action":"update","ids":[1],"content":"Tests run.","check":"none"}`); !strings.Contains(got, "is updated") {
		t.Error(got)
	}
	if got := h.memory(`{"action":"list","ids":[1,2]}`); strings.Contains(got, "doubtful") {
		t.Error(got)
	}
}
