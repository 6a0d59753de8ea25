package install

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (h *home) panelProblem() string {
	h.t.Helper()
	plugin, err := FindPlugin(context.Background(), h.Place)
	if err != nil || plugin == nil {
		h.t.Fatal(plugin, err)
	}
	return plugin.PanelProblem(context.Background(), h.Place)
}

func (h *home) wantOnly(before map[string]string) {
	h.t.Helper()
	got := h.contents()
	delete(before, "/data/magicctx.schema.json")
	delete(got, "/data/magicctx.schema.json")
	if diff := cmp.Diff(before, got); diff != "" {
		h.t.Fatal("left over (-before +after):\n" + diff)
	}
}

// A removal gives both files their former bytes back.
func TestPanelIsListedAndRemoved(t *testing.T) {
	for name, before := range map[string]string{
		"tui.json":  "// mine\n{\n  \"theme\": \"nord\", // dark\n  \"plugin\": [\n    \"other-panel\", // theirs\n  ],\n}\n",
		"tui.jsonc": `{"theme": "nord"}`,
		"":          "",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.Plugin, h.Shim = "", h.carried()
			file := filepath.Join(h.dir, "tui.jsonc") // OpenCode moves old settings to tui.json only if there is none
			if name != "" {
				file = filepath.Join(h.dir, name)
				h.write(file, before)
			}
			former := h.contents()
			plan := h.install()
			if diff := plan.Diff(false); !strings.Contains(diff, file) || !strings.Contains(diff, "opencode.json") {
				t.Errorf("the plan shows\n%s", diff)
			}
			h.apply(plan)
			after := h.read(file)
			if want := h.shimFile(terminalName); !strings.Contains(after, `"`+want+`"`) || strings.Contains(h.read(filepath.Join(h.dir, "opencode.json")), terminalName) {
				t.Errorf("%s does not list %s:\n%s", file, want, after)
			}
			for _, kept := range []string{"// mine", "// dark", "// theirs", "other-panel"} {
				if strings.Contains(before, kept) && !strings.Contains(after, kept) {
					t.Errorf("%q is gone:\n%s", kept, after)
				}
			}
			if plan := h.install(); !plan.IsEmpty() {
				t.Errorf("something is left to install: %v", plan.Effects())
			}
			if problem := h.panelProblem(); problem != "" {
				t.Error(problem)
			}
			h.uninstall()
			h.wantOnly(former)
		})
	}
}

func TestPanelIsRemovedFromAnEditedFile(t *testing.T) {
	h := newHome(t)
	h.Plugin, h.Shim = "", h.carried()
	file := filepath.Join(h.dir, "tui.json")
	h.write(file, `{"plugin": ["one"]}`)
	h.apply(h.install())
	h.write(file, strings.Replace(h.read(file), `"one"`, `"one", "two"`, 1))
	h.uninstall()
	if got, want := h.read(file), `{"plugin": ["one", "two"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An older installation has listed no panel.
func TestPanelIsAddedToAnOlderInstallation(t *testing.T) {
	h := newHome(t)
	h.Plugin, h.Shim = "", h.carried()
	terminal := h.Shim.Terminal
	h.Shim.Terminal = nil
	h.apply(h.install())
	if problem := h.panelProblem(); !strings.Contains(problem, "no tui.json lists it") {
		t.Errorf("the problem is %q", problem)
	}
	h.Shim.Terminal = terminal
	configuration := h.read(filepath.Join(h.dir, "opencode.json"))
	h.apply(h.install())
	if problem := h.panelProblem(); problem != "" {
		t.Error(problem)
	}
	if got := h.read(filepath.Join(h.dir, "opencode.json")); got != configuration {
		t.Errorf("the configuration changed:\n%s", got)
	}
	h.uninstall()
	if got := h.list(); len(got) == 0 || strings.Contains(strings.Join(got, " "), "tui") {
		t.Errorf("left over: %v", got)
	}
}

// The plugin works without the panel.
func TestBrokenPanelListStopsNothing(t *testing.T) {
	h := newHome(t)
	h.Plugin, h.Shim = "", h.carried()
	file := filepath.Join(h.dir, "tui.json")
	h.write(file, "{\n  \"plugin\" [\n")
	plan := h.install()
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], file+":2:") {
		t.Errorf("notes: %q", plan.Notes)
	}
	h.apply(plan)
	if got := h.read(file); got != "{\n  \"plugin\" [\n" {
		t.Errorf("the file became %q", got)
	}
	if problem := h.panelProblem(); !strings.Contains(problem, file) {
		t.Errorf("the problem is %q", problem)
	}
	h.uninstall()
}

// A project's configuration may be committed and used on other machines. So the plugin list must name the panel by a
// path relative to the project, not by a path of this machine.
func TestPanelOfAProject(t *testing.T) {
	h := newHome(t)
	h.Project = filepath.Join(h.root, "p")
	h.Plugin, h.Shim = "", h.carried()
	if err := os.Mkdir(h.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	before := h.contents()
	h.apply(h.install())
	file := filepath.Join(h.Project, "tui.jsonc")
	if got := h.read(file); !strings.Contains(got, `"./.opencode/opencode-shim/tui.js"`) {
		t.Errorf("%s is\n%s", file, got)
	}
	h.uninstall()
	h.wantOnly(before)
}

// If the user has chosen an npm package as the plugin, the panel must be loaded from the same package.
func TestPanelOfAChosenPlugin(t *testing.T) {
	h := newHome(t)
	h.Plugin = "@magicctx/opencode"
	h.apply(h.install())
	if got := decode(t, h.read(filepath.Join(h.dir, "tui.jsonc")))["plugin"]; !cmp.Equal(got, []any{"@magicctx/opencode"}) {
		t.Errorf("the list is %v", got)
	}
	h.uninstall()
	h.Plugin = "/my/own.js"
	h.apply(h.install())
	if _, err := os.Stat(filepath.Join(h.dir, "tui.jsonc")); err == nil {
		t.Error("a plugin without a panel got one")
	}
}
