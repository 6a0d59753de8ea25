package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (h *home) problems() []ShimProblem {
	h.t.Helper()
	found, err := h.ShimProblems(h.Shim)
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// Doctor reports a shim if it has another version than the running program, if it starts another program, if that
// program is gone, or if the file that names the program is unreadable. Installing again repairs each of these.
func TestInstallingAgainRepairsTheShim(t *testing.T) {
	h := newHome(t)
	h.Plugin, h.Shim = "", h.carried()
	before := h.contents()
	h.apply(h.install())
	if got := h.read(h.shimFile(bundleName)); got != "bundle 1" {
		t.Errorf("the bundle is %q", got)
	}
	if got := h.read(h.shimFile(hostRecord)); !strings.Contains(got, filepath.Base(h.Shim.Host)) {
		t.Errorf("the record of the host is %s", got)
	}
	if found := h.problems(); len(found) != 0 {
		t.Errorf("a sound installation has problems: %v", found)
	}
	if plan := h.install(); !plan.IsEmpty() {
		t.Errorf("there is something left to install: %v", plan.Effects())
	}

	configuration := h.read(filepath.Join(h.dir, "opencode.json"))
	first := h.Shim.Host
	for name, change := range map[string]struct {
		do      func()
		problem string
		isFatal bool
	}{
		"update":   {func() { h.Shim.Bundle = []byte("bundle 2") }, "another version", false},
		"terminal": {func() { h.Shim.Terminal = []byte("terminal 2") }, "another version", false},
		"before terminals": {func() {
			if err := os.Remove(h.shimFile(terminalName)); err != nil {
				t.Fatal(err)
			}
		}, "another version", false},
		"moved": {func() {
			h.Shim.Host = filepath.Join(h.root, "moved")
			if err := os.Rename(first, h.Shim.Host); err != nil {
				t.Fatal(err)
			}
		}, first + ", which is gone", true},
		"second": {func() {
			h.Shim.Host = filepath.Join(h.root, "second")
			h.write(h.Shim.Host, "")
		}, "starts another program", false},
		"record": {func() { h.write(h.shimFile(hostRecord), "{") }, "does not say which host", true},
	} {
		t.Run(name, func(t *testing.T) {
			h.Shim = h.carried()
			h.apply(h.install())
			change.do()
			found := h.problems()
			if len(found) != 1 || !strings.Contains(found[0].Problem, change.problem) || found[0].IsFatal != change.isFatal {
				t.Errorf("problems: %v", found)
			}
			h.apply(h.install())
			if err := os.Chmod(h.Shim.Host, 0o755); err != nil {
				t.Fatal(err)
			}
			if found := h.problems(); len(found) != 0 {
				t.Errorf("installing again left %v", found)
			}
			if got := h.read(filepath.Join(h.dir, "opencode.json")); got != configuration {
				t.Errorf("installing again changed the configuration:\n%s", got)
			}
		})
	}
	h.uninstall()
	after := h.contents()
	if _, isThere := after["/data/magicctx.schema.json"]; isThere {
		t.Error("the schema of the settings is left over")
	}
	for _, name := range []string{"/bin/magicctx-host", "/moved", "/second", "/data/magicctx.schema.json"} {
		delete(after, name)
		delete(before, name)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("files left over (-before +after):\n%s", diff)
	}
}

// An installation for a project must write no path of this machine into the project's files, because they may be
// committed.
func TestProjectInstallNamesNoPathOfTheMachine(t *testing.T) {
	for _, configuration := range []string{"opencode.json", ".opencode/opencode.jsonc"} {
		t.Run(configuration, func(t *testing.T) {
			h := newHome(t)
			h.Project = filepath.Join(h.root, "p")
			h.Plugin, h.Shim = "", h.carried()
			h.write(filepath.Join(h.Project, configuration), "{}")
			before := h.contents()
			plan := h.install()
			h.apply(plan)
			added := 0
			for name, content := range h.contents() {
				if !strings.HasPrefix(name, "/p/") || content == before[name] {
					continue
				}
				added++
				if strings.Contains(content, h.root) {
					t.Errorf("%s names a path of this machine:\n%s", name, content)
				}
			}
			if added != 5 {
				t.Errorf("%d files of the project were written, want configuration, list of the panel, settings and the loader's two", added)
			}
			spec := decode(t, h.read(plan.File))["plugin"].([]any)[0].(string)
			if got := h.read(h.scriptAt(h.pathOf(plan.File, spec))); got != "loader 1" || !h.isShim(spec) {
				t.Errorf("the plugin %s is %q", spec, got)
			}
			if plan := h.install(); !plan.IsEmpty() {
				t.Errorf("there is something left to install: %v", plan.Effects())
			}

			h.Shim.Loader, h.Shim.TerminalLoader = []byte("loader 2"), []byte("terminal loader 2")
			h.apply(h.install())
			h.uninstall()
			if diff := cmp.Diff(before, h.contents()); diff != "" {
				t.Errorf("files left over (-before +after):\n%s", diff)
			}
		})
	}
}

// An older release installed no loader for the terminal. A new installation adds it. But if the repository contains a
// file at that path, the installation does not replace it.
func TestTerminalLoaderOfAnOlderInstallation(t *testing.T) {
	h := newHome(t)
	h.Project = filepath.Join(h.root, "p")
	h.Plugin, h.Shim = "", h.carried()
	before := h.contents()
	h.Shim.Terminal, h.Shim.TerminalLoader = nil, nil
	h.apply(h.install())
	h.Shim = h.carried()
	loader, err := h.loaderFile()
	if err != nil {
		t.Fatal(err)
	}
	terminal := filepath.Join(filepath.Dir(loader), terminalName)
	h.write(terminal, "of a repository")
	if _, err := Install(context.Background(), h.Options); err == nil || !strings.Contains(err.Error(), terminal) {
		t.Errorf("install: %v", err)
	}
	if err := os.Remove(terminal); err != nil {
		t.Fatal(err)
	}
	h.apply(h.install())
	if got := h.read(terminal); got != "terminal loader 1" {
		t.Errorf("the loader is %q", got)
	}
	h.uninstall()
	if diff := cmp.Diff(before, h.contents()); diff != "" {
		t.Errorf("files left over (-before +after):\n%s", diff)
	}
}

// If the user's own configuration already loads the plugin, the loader in the project must not load it a second time.
func TestLoaderOfAProjectLeadsToThePlugin(t *testing.T) {
	for _, harness := range Harnesses {
		t.Run(harness.Name, func(t *testing.T) {
			h := newHomeOf(t, harness)
			h.Project = filepath.Join(h.root, "p")
			h.Plugin, h.Shim = "", h.carried()
			h.apply(h.install())
			want := func(what, path string) {
				t.Helper()
				found, err := FindPlugin(t.Context(), h.Place)
				if err != nil || found == nil || found.Path != path {
					t.Errorf("%s: %+v, %v; want %s", what, found, err, path)
				}
			}
			want("installed for the project", h.shimFile(bundleName))
			foreign := func(what, path string) {
				t.Helper()
				if found, err := ForeignPlugin(t.Context(), h.Place, h.Shim); err != nil || found != path {
					t.Errorf("%s: the foreign loader is %q, %v; want %q", what, found, err, path)
				}
			}
			foreign("installed for the project", "")

			settings := filepath.Join(h.dir, harness.files[0])
			chosen := "/opt/" + harness.shimDirectory + "/dist/index.js"
			h.write(settings, fmt.Sprintf(`{%q: [%q]}`, harness.List, chosen))
			want("the user has another plugin", chosen)
			h.write(settings, "{}")

			loader, err := h.loaderFile()
			if err != nil {
				t.Fatal(err)
			}
			h.write(loader, "of a repository")
			foreign("somebody else's loader", loader)
			if err := os.Remove(loader); err != nil {
				t.Fatal(err)
			}
			want("the loader is gone", loader)
			foreign("the loader is gone", "")
		})
	}
}

// An uninstallation keeps files that another installation uses. It also keeps a loader that somebody has edited.
func TestUninstallKeepsFilesThatOthersUse(t *testing.T) {
	h := newHome(t)
	h.Plugin, h.Shim = "", h.carried()
	h.apply(h.install())
	p := *h
	p.Project = filepath.Join(h.root, "p")
	p.apply(p.install())
	loader, err := p.loaderFile()
	if err != nil {
		t.Fatal(err)
	}
	p.write(loader, "edited")
	p.uninstall()
	if got := h.read(loader); got != "edited" {
		t.Errorf("the edited loader became %q", got)
	}
	if found := h.problems(); len(found) != 0 || h.read(h.shimFile(bundleName)) != "bundle 1" {
		t.Errorf("the shim of the user has gone with the project's: %v", found)
	}
	h.uninstall()
	if _, err := os.Stat(filepath.Dir(h.shimFile(bundleName))); !os.IsNotExist(err) {
		t.Errorf("the shim is still there: %v", err)
	}
}

// A repository may contain a link in place of the directory for the loader. If the installation followed the link, it
// would write outside of the project. So it must fail.
func TestHostileCloneLoaderFollowsNoLink(t *testing.T) {
	h := newHome(t)
	h.Project = filepath.Join(h.root, "p")
	h.Plugin, h.Shim = "", h.carried()
	outside := filepath.Join(h.root, "outside")
	h.write(filepath.Join(outside, "x"), "")
	h.write(filepath.Join(h.Project, ".opencode", "x"), "")
	if err := os.Symlink(outside, filepath.Join(h.Project, ".opencode", OpenCode.shimDirectory)); err != nil {
		t.Skip("no links here:", err)
	}
	if _, err := Install(context.Background(), h.Options); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("install: %v", err)
	}
}

// The program may run from the cache of npx or `go run`, which may soon delete it. The installation must then copy the
// program.
func TestProgramInACacheIsCopied(t *testing.T) {
	h := newHome(t)
	h.Plugin = ""
	cached := filepath.Join(h.root, "_npx", "1a2b", "node_modules", "@magicctx", "host-linux-x64", "bin", "magicctx-host")
	h.write(cached, "program")
	h.Shim = Shim{Bundle: []byte("b"), Loader: []byte("l")}
	if err := h.Shim.UseHost(h.Place, cached, cached); err != nil {
		t.Fatal(err)
	}
	h.apply(h.install())
	if strings.Contains(h.Shim.Host, "_npx") || h.read(h.Shim.Host) != "program" {
		t.Errorf("the plugin starts %s", h.Shim.Host)
	}
	if found := h.problems(); len(found) != 0 {
		t.Errorf("problems: %v", found)
	}
	h.uninstall()
	if _, err := os.Stat(h.Shim.Host); !os.IsNotExist(err) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// The program is larger than maxFileBytes, the limit for reading a configuration file. The installation must still
// notice whether the installed copy of the program is up to date.
func TestCopyOfALargeProgramIsKnownAgain(t *testing.T) {
	h := newHome(t)
	h.Plugin = ""
	h.Shim = h.carried()
	h.Shim.Host, h.Shim.Program = h.programCopy(), bytes.Repeat([]byte("program"), maxFileBytes/7+1)
	h.apply(h.install())
	if plan := h.install(); !plan.IsEmpty() {
		t.Errorf("there is something left to install: %v", plan.Effects())
	}
	h.Shim.Program = append([]byte("P"), h.Shim.Program[1:]...)
	h.apply(h.install())
	if !strings.HasPrefix(h.read(h.Shim.Host), "Program") {
		t.Error("the copy was not renewed")
	}
}

// If the user starts the program through a link, the installation records the link instead of the program's path,
// because the link stays valid after an update.
func TestLinkToTheProgramIsRecorded(t *testing.T) {
	h := newHome(t)
	program, link := filepath.Join(h.root, "Cellar", "1", "magicctx-host"), filepath.Join(h.root, "bin", "magicctx-host")
	h.write(program, "")
	h.write(filepath.Join(h.root, "bin", "x"), "")
	if err := os.Symlink(program, link); err != nil {
		t.Skip("no links here:", err)
	}
	var s Shim
	if err := s.UseHost(h.Place, program, link); err != nil || s.Host != link {
		t.Errorf("the plugin starts %s (%v), want %s", s.Host, err, link)
	}
	other := filepath.Join(h.root, "bin", "other")
	h.write(other, "")
	if err := s.UseHost(h.Place, program, other); err != nil || s.Host != program {
		t.Errorf("the plugin starts %s (%v), want %s", s.Host, err, program)
	}
}

// OpenCode 2 can load a plugin only from a directory. If an earlier release has added a single file to the
// configuration, a new installation replaces this entry with a directory. Uninstalling restores the original bytes.
func TestFileBecomesADirectory(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.dir, "opencode.json")
	former := fmt.Sprintf(`{"plugin": [%q]}`, h.shimFile(bundleName))
	h.write(file, former)
	h.Plugin, h.Shim = "", h.carried()
	if err := h.RenewShim(h.Shim); err != nil {
		t.Fatal(err)
	}
	problem := func() string {
		t.Helper()
		found, err := FindPlugin(t.Context(), h.Place)
		if err != nil || found == nil {
			t.Fatalf("%+v, %v", found, err)
		}
		problem, _ := found.Problem(OpenCode)
		return problem
	}
	if got := problem(); !strings.Contains(got, "as a file") {
		t.Errorf("a file: %q", got)
	}
	h.apply(h.install())
	want := filepath.Dir(h.shimFile(bundleName))
	if got := decode(t, h.read(file))["plugin"]; !cmp.Equal(got, []any{want}) {
		t.Errorf("plugin is %v, want %s", got, want)
	}
	if got := problem(); got != "" {
		t.Errorf("a directory: %q", got)
	}
	h.uninstall()
	if got := h.read(file); got != former {
		t.Errorf("got %s, want %s", got, former)
	}
	h.write(file, `{"plugins": [{"package": "@magicctx/opencode"}]}`)
	if got := problem(); !strings.Contains(got, `only OpenCode 2 reads the list "plugins"`) {
		t.Errorf("the list of version 2: %q", got)
	}
	h.write(file, `{"plugins": ["@magicctx/opencode"], "plugin": ["@magicctx/opencode"]}`)
	if got := problem(); !strings.Contains(got, "also loads it from "+file+":1:14") {
		t.Errorf("both lists: %q", got)
	}
}
