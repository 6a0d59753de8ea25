package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/file"
)

type dataDirFlag struct {
	DataDir string `help:"Directory of the database and the logs ($$MAGIC_CONTEXT_DATA_DIR)." type:"path" placeholder:"DIR"`
}

func (f dataDirFlag) resolve() (string, error) {
	// kong could read this variable itself, but if the variable is empty, kong would use the working directory.
	dir := cmp.Or(f.DataDir, os.Getenv("MAGIC_CONTEXT_DATA_DIR"))
	if dir == "" {
		if testing.Testing() {
			return "", errors.New("a test must name its data directory")
		}
		dir = file.DefaultDir(os.Getenv)
	}
	if dir == "" {
		return "", errors.New("no data directory: neither HOME nor MAGIC_CONTEXT_DATA_DIR is set")
	}
	return filepath.Abs(dir)
}

// If another user owns dir, createDataDir fails: the owner could replace the log with a link to a file of this user,
// and the host would then write into that file.
func createDataDir(dir string) error {
	if err := file.CheckOwner(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(logPath(dir)), 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

func logPath(dataDir string) string { return filepath.Join(dataDir, "logs", "host.log") }

func (f dataDirFlag) createDatabase(ctx context.Context) error {
	dir, err := f.resolve()
	if err != nil || exists(file.PathIn(dir)) {
		return err
	}
	if err := createDataDir(dir); err != nil {
		return err
	}
	db, err := store.Open(ctx, store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: wallClock()})
	if err != nil {
		return err
	}
	return db.Close()
}
