package doctor

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// After its server has ended, OpenCode 2 may leave the file with the server's address. So the file alone does not prove
// that the server runs.
func TestServerRuns(t *testing.T) {
	state := t.TempDir()
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	server := httptest.NewServer(nil)
	if err := os.MkdirAll(filepath.Join(state, "opencode"), 0o700); err != nil {
		t.Fatal(err)
	}
	if serverRuns(t.Context(), env) {
		t.Error("a server runs without a file")
	}
	for _, content := range []string{`{"url": `, fmt.Sprintf(`{"id": "s", "url": %q, "pid": 1}`, server.URL)} {
		if err := os.WriteFile(filepath.Join(state, "opencode", "service.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !serverRuns(t.Context(), env) {
		t.Error("the server does not run")
	}
	server.Close()
	if serverRuns(t.Context(), env) {
		t.Error("the server still runs")
	}
}

// Pi 0.74 prints its version to stderr.
func TestVersionMayStandOnStderr(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	program := filepath.Join(t.TempDir(), "pi")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 0.74.2 >&2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := VersionOf(t.Context(), program); err != nil || got != "0.74.2\n" {
		t.Errorf("%q, %v", got, err)
	}
}
