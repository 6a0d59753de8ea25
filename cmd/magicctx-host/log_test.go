package main

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/cmd/magicctx-host/terminal"
	"github.com/magicctx/magicctx-host/internal/program"
)

func TestStdioAtATerminalExplainsItself(t *testing.T) {
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
	if terminal.Is(null) {
		t.Error("a plugin that starts us without stdin was taken for a person")
	}
}

func TestLogIsJSONForFiles(t *testing.T) {
	var b strings.Builder
	terminal.NewLogger(&b, slog.LevelWarn).Info("quiet")
	terminal.NewLogger(&b, slog.LevelInfo).Info("loud", "session", "s")
	if got := b.String(); !strings.HasSuffix(got, `"level":"INFO","msg":"loud","session":"s"}`+"\n") || strings.Contains(got, "quiet") {
		t.Errorf("logged %s", got)
	}
}
