//go:build unix

package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Regression test (B9): a named pipe in the place of a lock, the token file or the log made the start hang for ever.
func TestB9NamedPipeHangsNoStart(t *testing.T) {
	for _, c := range []struct {
		name string
		open func(ctx context.Context, path string) error
	}{
		{"lock", func(ctx context.Context, path string) error {
			unlock, err := lock(ctx, path)
			if err == nil {
				unlock()
			}
			return err
		}},
		{"token", func(ctx context.Context, path string) error {
			dir, name := filepath.Split(strings.TrimSuffix(path, ".tcp"))
			conn, err := Dial(ctx, Endpoint{dir: dir, name: name})
			if err == nil {
				conn.Close()
			}
			return err
		}},
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil { // other modes are refused before the pipe is seen
			t.Fatal(err)
		}
		path := filepath.Join(dir, "e.tcp")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		done := make(chan error, 1)
		go func() { done <- c.open(ctx, path) }()
		select {
		case err := <-done:
			if err == nil || errors.Is(err, ErrNoHost) || !strings.Contains(err.Error(), "named pipe") {
				t.Errorf("%s: got %v", c.name, err)
			}
		case <-ctx.Done():
			t.Fatalf("opening the pipe in place of the %s does not return", c.name)
		}
		cancel()
	}
}

func TestB9NamedPipeInPlaceOfTheLogStartsTheHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() {
		ended, err := Spawn(self, []string{"-test.run", "^$"}, path)
		if err == nil {
			err = <-ended
		}
		started <- err
	}()
	select {
	case err := <-started:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("the program does not start")
	}
}
