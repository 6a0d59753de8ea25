package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/program"
)

func TestFullLogIsMovedAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.log")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(strings.Repeat("x", maxLogBytes/4-1) + "\n")
	for range 9 { // enough lines for two full files and one more
		if _, err := log.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{path: 1, path + ".1": 4} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Size()) / len(line); got != want {
			t.Errorf("%s has %d lines, want %d", filepath.Base(name), got, want)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %#o, want 0600", filepath.Base(name), mode)
		}
	}
	// The bytes in a file count towards its limit even if they were written before it was opened.
	if log, err = openLog(path); err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if log.size != int64(len(line)) {
		t.Errorf("an opened log has %d bytes, want %d", log.size, len(line))
	}
}

func TestPeopleAtATerminalAreToldWhatStdioIs(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer terminal.Close()
	var stdout, stderr strings.Builder
	code := run(context.Background(), []string{"stdio", "--data-dir", t.TempDir()}, terminal, &stdout, &stderr, newFakeHost)
	if code != exitFailed || !strings.Contains(stderr.String(), program.Name()+" status") || stdout.Len() > 0 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}

func TestNullDeviceIsNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("a plugin that starts us without stdin was taken for a person")
	}
}

func TestLogIsJSONForFiles(t *testing.T) {
	var b strings.Builder
	newLogger(&b, slog.LevelWarn).Info("quiet")
	newLogger(&b, slog.LevelInfo).Info("loud", "session", "s")
	if got := b.String(); !strings.HasSuffix(got, `"level":"INFO","msg":"loud","session":"s"}`+"\n") || strings.Contains(got, "quiet") {
		t.Errorf("logged %s", got)
	}
}
