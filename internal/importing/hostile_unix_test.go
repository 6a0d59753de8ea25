//go:build unix

package importing

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store/plugindb/plugindbtest"
	"github.com/magicctx/magicctx-host/store/storetest"
)

// Opening a named pipe would wait for ever.
func TestNamedPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	storetest.Must(t, syscall.Mkfifo(pipe, 0o600))
	storetest.Must(t, os.Symlink(pipe, link))
	beside := filepath.Join(dir, "copy.db")
	content, err := os.ReadFile(plugindbtest.New(t, filepath.Join(dir, "a"), 36).Path)
	storetest.Must(t, err)
	storetest.Must(t, os.WriteFile(beside, content, 0o600))
	storetest.Must(t, syscall.Mkfifo(beside+"-wal", 0o600))
	for _, path := range []string{pipe, link, beside} {
		i := Importer{Dir: filepath.Join(dir, "data"), Clock: clock.NewManual(now)}
		if _, err := i.Run(t.Context(), path); err == nil || !strings.Contains(err.Error(), "is a named pipe, not a file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDamagedDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	plugin := plugindbtest.New(t, filepath.Join(dir, "a"), 36)
	for range 200 {
		plugin.Memory("git:1", "NAMING", strings.Repeat("zebra ", 100), "")
	}
	plugin.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	content, err := os.ReadFile(plugin.Path)
	storetest.Must(t, err)
	path := filepath.Join(dir, "damaged.db")
	for name, damaged := range map[string][]byte{
		"cut":         content[:len(content)/2],
		"overwritten": append(append(content[:len(content)/2:len(content)/2], strings.Repeat("x", 8192)...), content[len(content)/2+8192:]...),
	} {
		storetest.Must(t, os.WriteFile(path, damaged, 0o600))
		i := Importer{Dir: filepath.Join(dir, "data"), Clock: clock.NewManual(now)}
		if _, err := i.Run(t.Context(), path); err == nil || !strings.Contains(err.Error(), "damaged") && !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(i.Dir); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}
