package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (h *home) apply(plan *Plan) {
	h.t.Helper()
	if err := plan.Apply(); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) vault(file string) vault {
	h.t.Helper()
	v, err := h.Place.vault(file)
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

func (h *home) uninstall() {
	h.t.Helper()
	plan, err := Uninstall(context.Background(), h.Place)
	if err != nil {
		h.t.Fatal(err)
	}
	h.apply(plan)
}

func (h *home) contents() map[string]string {
	h.t.Helper()
	all := make(map[string]string)
	for _, name := range h.list() {
		if info, err := os.Stat(h.root + name); err == nil && info.Mode().IsRegular() {
			all[name] = h.read(h.root + name)
		}
	}
	return all
}

func TestNewFileIsRemovedAgain(t *testing.T) {
	h := newHome(t)
	before := h.list()
	plan := h.install()
	h.apply(plan)
	if want := filepath.Join(h.dir, "opencode.json"); plan.File != want {
		t.Errorf("created %s, want %s", plan.File, want)
	}
	if got := decode(t, h.read(plan.File))["plugin"]; !cmp.Equal(got, []any{shim}) {
		t.Errorf("plugin is %v", got)
	}
	h.uninstall()
	if diff := cmp.Diff(before, h.list()); diff != "" {
		t.Errorf("files left over (-before +after):\n%s", diff)
	}
}

func TestNewFileWithLaterEditsStays(t *testing.T) {
	h := newHome(t)
	plan := h.install()
	h.apply(plan)
	h.write(plan.File, strings.Replace(h.read(plan.File), "{", "{\n  \"model\": \"a/b\",", 1))
	h.uninstall()
	want := "{\n  \"model\": \"a/b\",\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n"
	if got := h.read(plan.File); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// After an installation, the user edits the file and installs magicctx again. The new backup must not contain the
// changes of the first installation. Otherwise, an uninstallation, which restores the backup, would bring these changes
// back.
func TestInstallAfterAnEditCanStillBeUndone(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.dir, "opencode.json")
	h.write(file, "{\n  \"compaction\": {\"auto\": true}\n}\n")
	h.apply(h.install())
	edited := strings.Replace(h.read(file), `"auto": false`, `"auto": true, "reserved": 5`, 1)
	h.write(file, edited)
	h.apply(h.install())
	h.uninstall()
	want := "{\n  \"compaction\": {\"auto\": true, \"reserved\": 5}\n}\n"
	if got := h.read(file); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The user has restored the file by hand, for example with git. An uninstallation must leave this file as it is, and
// remove all other traces of the installation.
func TestUninstallOfARestoredFileOnlyTidiesUp(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.dir, "opencode.json")
	h.write(file, "{}")
	before := h.list()
	h.apply(h.install())
	h.write(file, "{}")
	h.uninstall()
	if got := h.read(file); got != "{}" {
		t.Errorf("the file became %q", got)
	}
	if diff := cmp.Diff(before, h.list()); diff != "" {
		t.Errorf("files left over (-before +after):\n%s", diff)
	}
	if _, err := Uninstall(context.Background(), h.Place); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("a second uninstall: %v", err)
	}
}

func TestUninstallWithoutBackupStillUndoes(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.dir, "opencode.json")
	h.write(file, `{"compaction": {"auto": true}}`)
	h.apply(h.install())
	if err := os.Remove(h.vault(file).backup); err != nil {
		t.Fatal(err)
	}
	h.uninstall()
	if got, want := h.read(file), `{"compaction": {"auto": true}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEditedSettingsStay(t *testing.T) {
	h := newHome(t)
	plan := h.install()
	h.apply(plan)
	h.write(plan.Settings.File, `{"protected_tags": 5}`)
	h.uninstall()
	if got := h.read(plan.Settings.File); got != `{"protected_tags": 5}` {
		t.Errorf("the settings became %s", got)
	}
}

func TestSettingsThatExistAreNotHidden(t *testing.T) {
	for _, name := range []string{"magicctx.json", "magic-context.jsonc", "../magicctx/magicctx.jsonc"} {
		h := newHome(t)
		h.write(filepath.Join(h.dir, name), "{}")
		if plan := h.install(); plan.Settings != nil {
			t.Errorf("with %s, %s is offered", name, plan.Settings.File)
		}
	}
}

// All harnesses read the same settings file of a project. A second file would hide the first one, or would have no
// effect. So an installation must not create a second file.
func TestProjectHasOneSettingsFile(t *testing.T) {
	for _, order := range [][]*Harness{{OpenCode, Pi}, {Pi, OpenCode}} {
		t.Run(order[0].Name+" first", func(t *testing.T) {
			h := newPi(t)
			h.Project = filepath.Join(h.root, "p")
			h.Harness = order[0]
			plan := h.install()
			if want := filepath.Join(h.Project, "magicctx.jsonc"); plan.Settings == nil || plan.Settings.File != want {
				t.Fatalf("%s is not offered", want)
			}
			h.apply(plan)
			h.Harness = order[1]
			if plan := h.install(); plan.Settings != nil {
				t.Errorf("a second file is offered: %s", plan.Settings.File)
			}
		})
	}
	h := newPi(t)
	h.Project = filepath.Join(h.root, "p")
	h.write(filepath.Join(h.Project, ".pi", "magicctx.jsonc"), `{"protected_tags": 5}`)
	h.Harness = OpenCode
	if plan := h.install(); plan.Settings != nil {
		t.Errorf("%s is offered, which would hide that of Pi", plan.Settings.File)
	}
}

// A directory that holds something else stays.
func TestEmptyDirectoryIsRemoved(t *testing.T) {
	for _, harness := range Harnesses {
		t.Run(harness.Name, func(t *testing.T) {
			for name, test := range map[string]struct {
				before, after func(t *testing.T, dir string) // changes by somebody else before and after the installation
				stays         bool
			}{
				"made by install":      {doNothing, doNothing, false},
				"was there, and empty": {mkdir, doNothing, true},
				"holds something else": {doNothing, func(t *testing.T, dir string) { mkdir(t, filepath.Join(dir, "mine")) }, true},
			} {
				t.Run(name, func(t *testing.T) {
					for _, isInProject := range []bool{true, false} {
						h := newPi(t)
						h.Harness = harness
						dir := harness.userDirectories(h.Place)[0]
						if err := os.RemoveAll(dir); err != nil {
							t.Fatal(err)
						}
						if isInProject {
							h.Project = filepath.Join(h.root, "p")
							dir = filepath.Join(h.Project, harness.projectDirectory)
							mkdir(t, h.Project)
						}
						test.before(t, dir)
						h.apply(h.install())
						test.after(t, dir)
						h.uninstall()
						if _, err := os.Lstat(dir); (err == nil) != test.stays {
							t.Errorf("%s: %v, want it to stay: %t", dir, err, test.stays)
						}
					}
				})
			}
		})
	}
}

func TestLinkInPlaceOfTheDirectoryStays(t *testing.T) {
	h := newPi(t)
	h.Harness = OpenCode
	h.Project = filepath.Join(h.root, "p")
	h.apply(h.install())
	dir := filepath.Join(h.Project, ".opencode")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(h.root, "elsewhere")
	mkdir(t, elsewhere)
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Skip("no links here:", err)
	}
	h.uninstall()
	if !isLink(dir) {
		t.Error("the user's link is gone")
	}
}

func doNothing(*testing.T, string) {}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// While the program waits for the user's answer, somebody saves or removes the file. The program must notice that.
func TestConcurrentEditIsDetected(t *testing.T) {
	tests := map[string]func(h *home, file string) error{
		"edit": func(_ *home, file string) error { return os.WriteFile(file, []byte("{ }"), 0o644) },
		"gone": func(_ *home, file string) error { return os.Remove(file) },
	}
	for name, edit := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			file := filepath.Join(h.dir, "opencode.json")
			h.write(file, "{}")
			plan := h.install()
			if err := edit(h, file); err != nil {
				t.Fatal(err)
			}
			before := h.contents()
			if err := plan.Apply(); !errors.Is(err, ErrChanged) {
				t.Errorf("apply: %v, want ErrChanged", err)
			}
			if diff := cmp.Diff(before, h.contents()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
		})
	}
	t.Run("appears", func(t *testing.T) {
		h := newHome(t)
		plan := h.install()
		h.write(plan.File, "{}")
		if err := plan.Apply(); !errors.Is(err, ErrChanged) {
			t.Errorf("apply: %v, want ErrChanged", err)
		}
	})
	t.Run("uninstall", func(t *testing.T) {
		h := newHome(t)
		plan := h.install()
		h.apply(plan)
		removal, err := Uninstall(context.Background(), h.Place)
		if err != nil {
			t.Fatal(err)
		}
		h.write(plan.File, "{}")
		if err := removal.Apply(); !errors.Is(err, ErrChanged) {
			t.Errorf("apply: %v, want ErrChanged", err)
		}
	})
}

func TestLinkAndPermissionsStay(t *testing.T) {
	h := newHome(t)
	real := filepath.Join(h.root, "dotfiles", "opencode.json")
	h.write(real, "{}")
	if err := os.Chmod(real, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(h.dir, "opencode.json")
	if err := os.Symlink(filepath.Join("..", "..", "dotfiles", "opencode.json"), link); err != nil {
		t.Skip("no links here:", err)
	}
	h.apply(h.install())
	if !isLink(link) {
		t.Error("the link was replaced")
	}
	if !strings.Contains(h.read(real), shim) {
		t.Error("the target was not edited")
	}
	for _, file := range []string{real, h.vault(link).backup} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", file, got)
		}
	}
	h.uninstall()
	if !isLink(link) || h.read(real) != "{}" {
		t.Error("uninstall did not restore the target of the link")
	}
}

func TestFailedWriteIsReported(t *testing.T) {
	t.Run("link to nothing", func(t *testing.T) {
		h := newHome(t)
		if err := os.Symlink("nowhere", filepath.Join(h.dir, "opencode.json")); err != nil {
			t.Skip("no links here:", err)
		}
		if _, err := Install(context.Background(), h.Options); err == nil || !strings.Contains(err.Error(), "is a link to a file that does not exist") {
			t.Errorf("install: %v", err)
		}
	})
	t.Run("read-only file", func(t *testing.T) {
		h := newHome(t)
		file := filepath.Join(h.dir, "opencode.json")
		h.write(file, "{}")
		if err := os.Chmod(file, 0o444); err != nil {
			t.Fatal(err)
		}
		before := h.contents()
		if err := h.install().Apply(); err == nil || !strings.Contains(err.Error(), "opencode.json is read-only") {
			t.Errorf("apply: %v", err)
		}
		if diff := cmp.Diff(before, h.contents()); diff != "" {
			t.Errorf("files changed:\n%s", diff)
		}
	})
	t.Run("read-only directory", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root writes everywhere")
		}
		h := newHome(t)
		h.write(filepath.Join(h.dir, "opencode.json"), "{}")
		if err := os.Chmod(h.dir, 0o500); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(h.dir, 0o700)
		if err := h.install().Apply(); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "opencode.json") {
			t.Errorf("apply: %v", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		h := newHome(t)
		if err := os.Mkdir(filepath.Join(h.dir, "opencode.json"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Install(context.Background(), h.Options); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("install: %v", err)
		}
	})
}

func TestTarget(t *testing.T) {
	tests := []struct {
		name    string
		files   []string
		project bool
		extra   bool // the value of OPENCODE_CONFIG_DIR
		want    string
	}{
		{name: "new", want: "/.config/opencode/opencode.json"},
		{name: "jsonc first", files: []string{"/.config/opencode/opencode.json", "/.config/opencode/opencode.jsonc"}, want: "/.config/opencode/opencode.jsonc"},
		{name: "only json", files: []string{"/.config/opencode/opencode.json"}, want: "/.config/opencode/opencode.json"},
		{name: "own directory", files: []string{"/.config/opencode/opencode.json"}, extra: true, want: "/extra/opencode.json"},
		{name: "new in project", project: true, want: "/p/opencode.json"},
		{name: "hidden in project", files: []string{"/p/.opencode/opencode.jsonc"}, project: true, want: "/p/.opencode/opencode.jsonc"},
		{name: "root of project first", files: []string{"/p/.opencode/opencode.jsonc", "/p/opencode.json"}, project: true, want: "/p/opencode.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			for _, file := range tt.files {
				h.write(h.root+file, "{}")
			}
			p := h.Place
			if tt.project {
				p.Project = filepath.Join(h.root, "p")
			}
			if tt.extra {
				env := p.Env
				p.Env = func(name string) string {
					if name == "OPENCODE_CONFIG_DIR" {
						return filepath.Join(h.root, "extra")
					}
					return env(name)
				}
			}
			got, err := p.target()
			if err != nil || got != h.root+filepath.FromSlash(tt.want) {
				t.Errorf("target is %s (%v), want %s", got, err, tt.want)
			}
		})
	}
}

func (h *home) carried() Shim {
	host := filepath.Join(h.root, "bin", "magicctx-host")
	h.write(host, "")
	if err := os.Chmod(host, 0o755); err != nil {
		h.t.Fatal(err)
	}
	s := Shim{Bundle: []byte("bundle 1"), Loader: []byte("loader 1"), Host: host}
	if h.Harness == OpenCode {
		s.Terminal, s.TerminalLoader = []byte("terminal 1"), []byte("terminal loader 1")
	}
	return s
}

// The user's configuration already lists another copy of the shim. As long as the file of this copy exists, an
// installation leaves the entry alone, and only mentions it in a note. If the file is gone, or if the user has chosen a
// plugin for this installation, the installation replaces the entry.
func TestOneShimOnly(t *testing.T) {
	h := newHome(t)
	old := filepath.Join(h.root, "old", "adapters", "opencode-shim", "dist", "index.js")
	h.write(old, "")
	file := filepath.Join(h.dir, "opencode.json")
	content := `{"plugin": [["` + filepath.ToSlash(old) + `", {"x": 1}]], "compaction": {"auto": false, "prune": false}}`
	h.write(file, content)
	h.Plugin, h.Shim = "", h.carried()
	if plan := h.install(); !plan.IsEmpty() || len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], old) {
		t.Errorf("a shim that is there is replaced, or not named: %q\n%s", plan.Notes, plan.Diff(false))
	}

	h.Plugin = shim
	h.apply(h.install())
	want := `{"plugin": [["` + shim + `", {"x": 1}]], "compaction": {"auto": false, "prune": false}}`
	if got := h.read(file); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	h.uninstall()
	if got := h.read(file); got != content {
		t.Errorf("got\n%s\nwant\n%s", got, content)
	}

	h.Plugin = ""
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	h.apply(h.install())
	want = `{"plugin": [["` + filepath.ToSlash(filepath.Dir(h.shimFile(bundleName))) + `", {"x": 1}]], "compaction": {"auto": false, "prune": false}}`
	if got := h.read(file); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The user has installed a plugin whose name does not show that it belongs to magicctx. The next installation must
// recognise its entry by the record of the first installation, and replace it.
func TestChosenPluginIsKnownAgain(t *testing.T) {
	h := newHome(t)
	h.Plugin = "/my/own.js"
	h.apply(h.install())
	h.Plugin, h.Shim = "", h.carried()
	plan := h.install()
	h.apply(plan)
	if got := decode(t, h.read(plan.File))["plugin"]; !cmp.Equal(got, []any{filepath.Dir(h.shimFile(bundleName))}) {
		t.Errorf("plugin is %v", got)
	}
	h.uninstall()
	if _, err := os.Stat(plan.File); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new file is still there: %v", err)
	}
}
