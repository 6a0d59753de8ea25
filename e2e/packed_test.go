package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
)

// npm installs the packages that `task package` builds, without a network, and their own command adds the plugin to
// OpenCode. If the plugin works, the next prompt contains tags.
func TestPackedPluginWorks(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	w := newWorld(t, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	installed := w.installPacked().installed
	hosts, err := filepath.Glob(filepath.Join(installed, "node_modules", "@magicctx", "host-*", "bin", "magicctx-host*"))
	if err != nil || len(hosts) != 1 {
		t.Fatalf("installed hosts: %q, %v", hosts, err)
	}
	w.user.Product.Host = hosts[0] // status must run the program that also serves

	// The stage writes a configuration file, too.
	config := filepath.Join(w.user.Home.Config, "opencode", "opencode.jsonc")
	if err := os.WriteFile(config, []byte("{\n  // mine\n  \"username\": \"somebody\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(installed, "npx", "magicctx-host", "install", "opencode", "--yes")
	edited, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(edited); !strings.Contains(text, "/opencode-shim") || !strings.Contains(text, "// mine") {
		t.Fatalf("opencode.jsonc after install:\n%s", text)
	}

	oc := w.start(w.bare())
	session := w.session(oc)
	w.play(session, w.readNotes("toolu_1"), mockllm.Say("It says 41."), mockllm.Say("You are welcome."))
	w.prompt(oc, session, "What is the answer?")
	w.prompt(oc, session, "Thanks.")
	status, err := w.user.Status(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(status.PID), "exe"))
		if err != nil || exe != hosts[0] {
			t.Errorf("the host that serves is %s (%v), want %s", exe, err, hosts[0])
		}
	}
	requests := w.requests(session)
	if len(requests) != 3 {
		t.Fatalf("%d requests, want 3", len(requests))
	}
	for _, r := range requests {
		checkRequest(t, r)
		w.wantInBody(r, "§1§ What is the answer?", true)
	}
	checkTags(t, requests)
}

type packing struct {
	once                sync.Once
	tarballs, installed string
}

var packed packing

// The first test that needs the packages builds them. All tests only read them, so one build is enough.
func (w *world) installPacked() *packing {
	w.t.Helper()
	packed.once.Do(func() { packed.make(w) })
	if packed.installed == "" {
		w.t.Fatal("another test has failed to pack the product")
	}
	return &packed
}

func (p *packing) make(w *world) {
	w.t.Helper()
	dir := filepath.Dir(product.Host)
	p.tarballs = filepath.Join(dir, "packed")
	// The build runs in the developer's real home, because it needs the caches there.
	cmd := exec.CommandContext(w.ctx, "node", "packaging/pack.mjs", "--out", p.tarballs)
	cmd.Dir = product.Repo
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("pack: %v\n%s", err, out)
	}
	tarballs, err := filepath.Glob(filepath.Join(p.tarballs, "*.tgz"))
	if err != nil || len(tarballs) != 3 {
		w.t.Fatalf("tarballs: %q, %v", tarballs, err)
	}
	installed := filepath.Join(dir, "installed")
	if err := os.Mkdir(installed, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(installed, "package.json"), []byte("{}"), 0o644); err != nil {
		w.t.Fatal(err)
	}
	w.run(installed, "npm", append([]string{"install", "--offline", "--no-audit", "--no-fund"}, tarballs...)...)
	p.installed = installed
}

func (w *world) run(dir, name string, args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.ctx, name, args...)
	cmd.Dir, cmd.Env = dir, w.user.Home.Env(dir, "MAGIC_CONTEXT_DATA_DIR="+w.user.DataDir)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
