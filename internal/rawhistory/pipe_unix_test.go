//go:build unix

package rawhistory_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/internal/regular"
)

// Opening a named pipe in the place of a store would block the model's call until some program writes into the pipe.
func TestNamedPipesAreRefused(t *testing.T) {
	home := t.TempDir()
	db := rawhistorytest.NewOpenCode(t, t.TempDir())
	p := rawhistorytest.NewPi(t, home, session)
	must(t, os.Remove(p.Path))
	pipe := db.Path + ".pipe"
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, syscall.Mkfifo(p.Path, 0o600))
	for _, s := range []rawhistory.Session{ofOpenCode(), ofPi()} {
		if _, err := at(home, "OPENCODE_DB="+pipe).Read(t.Context(), s, 1, 1, nil); !errors.Is(err, regular.ErrNotRegular) {
			t.Errorf("%s: error %v", s.Harness, err)
		}
	}
}
