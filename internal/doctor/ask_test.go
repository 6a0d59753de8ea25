package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
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

// doctor once said of a program that it had stopped itself: "signal: killed".
func TestSlowProgramDidNotFail(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	program := filepath.Join(t.TempDir(), "opencode")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := VersionOf(ctx, program); !errors.Is(err, errSlow) {
		t.Errorf("%v", err)
	}
}
