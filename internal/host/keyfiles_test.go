package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

// The head outlines the files that the project's sessions read most. When such a file changes, a steady pass leaves its
// outline as it is. The next delta names the file as stale, and the next fold outlines it again.
func TestHeadOutlinesKeyFiles(t *testing.T) {
	bothHarnesses(t, func(t *testing.T, kind schema.Harness) {
		h := answeringIn(t, kind, good)
		h.project, h.config.Dreamer.PinKeyFiles.Enabled = t.TempDir(), true
		opensProject(t, h)
		writeKeyFile(t, h, "package a\nfunc Serve() {}")
		readsKeyFile(t, h, project.OfDirectory(h.project))
		h.talkLong()
		h.flush()
		h.pass()
		const shown = "<key-file path=\"a.go\">\nfunc Serve()\n  </key-file>"
		if wire := h.wire(); !strings.Contains(wire, shown) {
			t.Fatalf("the head lacks the file:\n%.3000s", wire)
		}
		if head := h.status().Sessions[0].Head; head == nil || head.Sections.KeyFiles == 0 {
			t.Errorf("%+v", head)
		}
		h.clock.Advance(2 * time.Minute)
		writeKeyFile(t, h, "package a\nfunc Listen() {}")
		before := h.wire()
		h.tool("b1", "x", "stop", 20_000)
		h.user("b2", "go on")
		if h.pass(); !strings.HasPrefix(h.wire(), before) {
			t.Error("a changed file has changed the prefix")
		}
		h.restart()
		opensProject(t, h)
		h.flush()
		if h.pass(); !strings.Contains(h.wire(), `<stale path="a.go"/>`) || !strings.Contains(h.wire(), shown) {
			t.Errorf("the delta does not name the file:\n%.3000s", h.wire())
		}
		h.clock.Advance(24 * time.Hour)
		if h.pass(); strings.Contains(h.wire(), "stale") || !strings.Contains(h.wire(), "func Listen()") {
			t.Errorf("the fold does not show the new outline:\n%.3000s", h.wire())
		}
	})
}

func TestKeyFilesAreOffByDefaultAndOfOneProject(t *testing.T) {
	for name, isOn := range map[string]bool{"off": false, "of another project": true} {
		h := answering(t, good)
		h.project = t.TempDir()
		opensProject(t, h)
		identity := project.OfDirectory(h.project)
		if isOn {
			h.config.Dreamer.PinKeyFiles.Enabled = true
			identity = "dir:other"
		}
		writeKeyFile(t, h, "package a\nfunc Serve() {}")
		readsKeyFile(t, h, identity)
		h.talkLong()
		h.flush()
		if h.pass(); len(h.compartments()) == 0 || strings.Contains(h.wire(), "key-file") {
			t.Errorf("%s:\n%.3000s", name, h.wire())
		}
	}
}

func opensProject(t *testing.T, h *harness) {
	t.Helper()
	h.host.history.IndexDir = h.dir
	_, err := h.host.Initialize(h.ctx, h, schema.InitializeParams{Harness: h.kind, Directory: h.project})
	must(t, err)
}

func writeKeyFile(t *testing.T, h *harness, source string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(h.project, "a.go"), []byte(source), 0o600))
}

func readsKeyFile(t *testing.T, h *harness, identity string) {
	t.Helper()
	x, err := index.Open(h.ctx, h.dir)
	must(t, err)
	defer x.Close()
	must(t, x.Update(h.ctx, func(tx *index.Tx) error {
		for i := range h.config.Dreamer.PinKeyFiles.MinReads {
			state, err := tx.Session(index.Session{Harness: "pi", ID: fmt.Sprint("read", i), Project: identity, Directory: h.project})
			if err == nil {
				err = tx.Put(state.Row, identity, index.Message{Key: "m", Ordinal: 1, At: 1, Chunks: []index.Chunk{{Kind: index.Read, Role: index.Tool, Subject: "a.go", Text: "a.go"}}})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}
