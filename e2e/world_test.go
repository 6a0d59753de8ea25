package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

// testTimeout bounds a whole test, on a machine that also runs other tests.
const testTimeout = 10 * time.Minute

// A world is a user's machine: the user, a project, and the model's provider.
type world struct {
	t       *testing.T
	ctx     context.Context
	root    string
	user    *stage.User
	project string
	mock    *mockllm.Server
	// isGone is true after the world was destroyed. Then kept holds its logs.
	isGone bool
	kept   map[string]string
}

// newWorld creates a world at root. Two worlds that use the same root one after the other have the same
// paths, so paths cannot make their requests differ.
func newWorld(t *testing.T, root string, files map[string]string) *world {
	t.Helper()
	// t.Context would end before the cleanups, which need a context.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)
	user, err := stage.NewUser(root, product)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, ctx: ctx, root: root, user: user, mock: mockllm.Start()}
	t.Cleanup(w.mock.Close)
	suite.Judge(t, w.mock)
	w.project = w.addProject("project", files)
	return w
}

// configure writes the user's magicctx.jsonc. A project's file may not set most of the keys that a story
// needs.
func (w *world) configure(settings string) {
	w.t.Helper()
	dir := filepath.Join(w.user.Home.Config, "magicctx")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "magicctx.jsonc"), []byte(settings), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// addProject creates another project of the same user.
func (w *world) addProject(name string, files map[string]string) string {
	w.t.Helper()
	dir := filepath.Join(w.root, name)
	if err := opencodetest.NewProject(w.ctx, dir, files); err != nil {
		w.t.Fatal(err)
	}
	return dir
}

// bare returns the options for OpenCode without the shim, in the world's project.
func (w *world) bare() opencodetest.Options { return w.user.Bare(w.project, w.mock.URL()) }

// withFlatPrices returns the options for OpenCode with the shim, at prices with which every bust pays
// off. The stories need that: they drop little, and their pressure exists only in the reported usage.
func (w *world) withFlatPrices() opencodetest.Options {
	o := w.withPlugin()
	o.FlatPrices = true
	return o
}

// withPlugin returns the options for OpenCode with the shim.
func (w *world) withPlugin() opencodetest.Options {
	return w.user.WithPlugin(product.Host, w.project, w.mock.URL())
}

// start runs OpenCode until the test ends or stop is called.
func (w *world) start(o opencodetest.Options) *opencodetest.OpenCode {
	w.t.Helper()
	oc, err := opencodetest.Start(w.ctx, o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		logs := w.kept
		if !w.isGone {
			logs = w.logs()
		}
		if w.t.Failed() {
			w.t.Logf("OpenCode printed:\n%s", oc.Output())
			for name, text := range logs {
				w.t.Logf("%s:\n%s", name, tail(text, 3_000))
			}
		}
		if w.isGone {
			return
		}
		w.stop(oc)
		w.stopHost()
	})
	return oc
}

func (w *world) stop(oc *opencodetest.OpenCode) {
	w.t.Helper()
	oc.Close()
	if err := oc.Stop(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) stopHost() {
	w.t.Helper()
	if err := w.user.StopHost(w.ctx); err != nil {
		w.t.Error(err)
	}
}

// destroy ends all processes of the world and empties its root for the next world.
func (w *world) destroy(oc *opencodetest.OpenCode) {
	w.t.Helper()
	w.stop(oc)
	w.stopHost()
	w.isGone, w.kept = true, w.logs()
	suite.Remove(w.t, w.root)
}

// session creates a session with a title, so that OpenCode does not ask for one.
func (w *world) session(oc *opencodetest.OpenCode) string {
	w.t.Helper()
	s, err := oc.CreateSession(w.ctx, opencodetest.NewSession{Title: "e2e"})
	if err != nil {
		w.t.Fatal(err)
	}
	return s.ID
}

// prompt runs one turn.
func (w *world) prompt(oc *opencodetest.OpenCode, session, text string) {
	w.t.Helper()
	if _, err := oc.Prompt(w.ctx, session, opencodetest.Prompt{Text: text}); err != nil {
		w.t.Fatal(err)
	}
}

// logs returns the logs of OpenCode, the shim and the host, by file name.
func (w *world) logs() map[string]string {
	w.t.Helper()
	logs := map[string]string{}
	for _, dir := range []string{w.user.Home.LogDir(), filepath.Join(w.user.Home.Temp, "*"), filepath.Join(w.user.DataDir, "logs")} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			if err != nil {
				w.t.Fatal(err)
			}
			logs[filepath.Base(path)] = strings.ToValidUTF8(string(raw), "?")
		}
	}
	return logs
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
