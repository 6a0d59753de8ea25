package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
)

func newPi(t *testing.T) *home {
	t.Helper()
	h := newHomeOf(t, Pi)
	h.Plugin, h.Shim = "", h.carried()
	return h
}

// The method `traces` returns the files that an uninstallation should remove. The schema stays, because the user's
// settings may refer to it.
func (h *home) traces() map[string]string {
	h.t.Helper()
	all := h.contents()
	delete(all, "/data/magicctx.schema.json")
	return all
}

func TestPiInstallAddsOnePackage(t *testing.T) {
	for _, test := range []struct{ name, before, diff string }{
		{
			"no settings yet", "",
			"--- /dev/null\n+++ SETTINGS\n@@ -0,0 +1,3 @@\n+{\n+  \"packages\": [\"SHIM\"]\n+}\n",
		},
		{
			"as Pi writes them",
			"{\n  \"lastChangelogVersion\": \"0.87.1\",\n  \"packages\": [\n    \"npm:one\",\n    {\n      \"source\": \"../two\",\n      \"skills\": []\n    }\n  ],\n  \"compaction\": {\n    \"enabled\": true\n  }\n}",
			"--- SETTINGS\n+++ SETTINGS\n@@ -5,7 +5,8 @@\n     {\n       \"source\": \"../two\",\n       \"skills\": []\n-    }\n+    },\n+    \"SHIM\"\n   ],\n   \"compaction\": {\n     \"enabled\": true\n",
		},
		{
			"one line", `{"theme":"dark"}`,
			"--- SETTINGS\n+++ SETTINGS\n@@ -1 +1 @@\n-{\"theme\":\"dark\"}\n\\ No newline at end of file\n+{\"theme\":\"dark\",\"packages\":[\"SHIM\"]}\n\\ No newline at end of file\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newPi(t)
			file := filepath.Join(h.dir, "settings.json")
			if test.before != "" {
				h.write(file, test.before)
			}
			before := h.traces()
			plan := h.install()
			diff := strings.NewReplacer(plan.Real, "SETTINGS", h.shimFile(bundleName), "SHIM").Replace(plan.Diff(false))
			if diff != test.diff {
				t.Errorf("the diff is (-want +got):\n%s", cmp.Diff(test.diff, diff))
			}
			h.apply(plan)
			if !json.Value(h.read(file)).IsValid() {
				t.Errorf("Pi cannot read\n%s", h.read(file))
			}
			if again := h.install(); !again.IsEmpty() {
				t.Errorf("a second installation changes %v", again.Effects())
			}
			h.uninstall()
			if diff := cmp.Diff(before, h.traces()); diff != "" {
				t.Errorf("a trace is left (-before +after):\n%s", diff)
			}
		})
	}
}

// Pi rewrites its settings file with each change of a setting. So the file may look different later, and an
// uninstallation must still find and remove magicctx's entry.
func TestPiUninstallFromRewrittenSettings(t *testing.T) {
	for _, test := range []struct{ name, rewritten, left string }{
		{
			"a setting more",
			"{\n  \"packages\": [\n    \"SHIM\"\n  ],\n  \"lastChangelogVersion\": \"0.87.1\"\n}",
			"{\n  \"lastChangelogVersion\": \"0.87.1\"\n}",
		},
		{
			"switched off by `pi config`, another package after it",
			"{\n  \"packages\": [\n    {\n      \"source\": \"SHIM\",\n      \"extensions\": [\n        \"-index.js\"\n      ]\n    },\n    \"npm:one\"\n  ]\n}",
			"{\n  \"packages\": [\n    \"npm:one\"\n  ]\n}",
		},
		{"taken out by `pi remove`", "{\n  \"packages\": []\n}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newPi(t)
			plan := h.install()
			h.apply(plan)
			h.write(plan.File, strings.ReplaceAll(test.rewritten, "SHIM", h.shimFile(bundleName)))
			h.uninstall()
			left, err := os.ReadFile(plan.File)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if string(left) != test.left {
				t.Errorf("left is\n%s\nwant\n%s", left, test.left)
			}
		})
	}
}

// Pi ignores all of its settings if the file contains a comment. An installation into such a file would have no effect,
// so it must be refused.
func TestPiSettingsWithCommentsAreRefused(t *testing.T) {
	for content, want := range map[string]string{
		"// mine\n{}":                          "settings.json:1:1: a comment or a trailing comma; Pi takes neither",
		"{\n  \"theme\": \"dark\",\n}":         "settings.json:2:18: a comment",
		"{\n  \"theme\": \"/* dark */\" /**/}": "settings.json:2:25: a comment",
		"{\n  theme: 1}":                       "settings.json:2:3: invalid literal",
		"[]":                                   "settings.json:1:1: not an object",
		`{"packages": "npm:one"}`:              `settings.json:1:14: "packages" is not a list`,
	} {
		h := newPi(t)
		file := filepath.Join(h.dir, "settings.json")
		h.write(file, content)
		before := h.contents()
		if _, err := Install(context.Background(), h.Options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
		if _, err := FindPlugin(context.Background(), h.Place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: doctor is told %v, want %q", content, err, want)
		}
		if diff := cmp.Diff(before, h.contents()); diff != "" {
			t.Errorf("files changed:\n%s", diff)
		}
	}
	h := newPi(t)
	plan := h.install()
	h.apply(plan)
	h.write(plan.File, "// mine\n"+h.read(plan.File))
	h.uninstall() // uninstall must still work
	if got := h.read(plan.File); got != "// mine\n{}\n" {
		t.Errorf("uninstall left\n%s", got)
	}
}

func TestPiAgentDirectory(t *testing.T) {
	for dir, want := range map[string]string{"": "/.pi/agent", "~/elsewhere": "/elsewhere", "~": ""} {
		h := newPi(t)
		home := h.root
		h.Env = func(name string) string {
			return map[string]string{"HOME": home, "PI_CODING_AGENT_DIR": dir}[name]
		}
		if plan := h.install(); plan.File != filepath.Join(home+want, "settings.json") {
			t.Errorf("with %q: %s", dir, plan.File)
		}
	}
	h := newPi(t)
	h.Env = func(string) string { return "" }
	if _, err := Install(context.Background(), h.Options); err == nil || !strings.Contains(err.Error(), "PI_CODING_AGENT_DIR") {
		t.Errorf("without a home: %v", err)
	}
}

func TestPiConflictsAreNamedAndNothingIsTouched(t *testing.T) {
	const user = "/.pi/agent/"
	for _, test := range []struct {
		name    string
		files   map[string]string
		project bool
		want    []string // a part of each conflict's message, in order
	}{
		{
			"npm packages",
			map[string]string{user + "settings.json": `{"packages": ["npm:@cortexkit/pi-magic-context@1", {"source": "npm:pi-dcp"}]}`},
			false,
			[]string{user + "settings.json:1:15", `remove "npm:@cortexkit/pi-magic-context@1" from "packages"`, user + "settings.json:1:63", "prunes the same messages"},
		},
		{
			"repositories",
			map[string]string{user + "settings.json": `{"packages": ["git:github.com/u/magic-context@v1", "https://example.org/u/pi-dcp.git"]}`},
			false,
			[]string{"does the same work", "prunes the same messages"},
		},
		{
			"a checkout among the extensions",
			map[string]string{
				user + "settings.json":     `{"extensions": ["~/src/mc/index.ts"]}`,
				"/src/mc/package.json":     `{"name": "@cortexkit/pi-magic-context"}`,
				"/src/mc/index.ts":         "",
				user + "extensions/one.ts": "",
			},
			false,
			[]string{user + "settings.json:1:17", `from "extensions"`},
		},
		{
			"files and folders that Pi discovers",
			map[string]string{
				user + "extensions/dcp.ts":                           "",
				user + "extensions/other/index.ts":                   `import "@cortexkit/pi-magic-context"`,
				user + "extensions/harmless/index.ts":                "",
				"/p/.pi/extensions/context/package.json":             `{"name": "pi-dynamic-context-pruning", "pi": {"extensions": ["./x.ts"]}}`,
				"/p/.pi/extensions/magic-context-notes/package.json": `{"name": "notes"}`,
			},
			true,
			[]string{user + "extensions/dcp.ts", "Pi loads it from here", user + "extensions/other", "/p/.pi/extensions/context"},
		},
		{
			"the user's packages in a project",
			map[string]string{user + "settings.json": `{"packages": ["npm:pi-dcp"]}`, "/p/.pi/settings.json": "{}"},
			true,
			[]string{user + "settings.json:1:15"},
		},
		{
			"our own, loaded by hand",
			map[string]string{user + "settings.json": `{"extensions": ["~/magicctx/adapters/pi-shim/dist/index.js"]}`},
			false,
			[]string{"would load it twice", `from "extensions"`},
		},
		{
			"what only sounds alike, and patterns",
			map[string]string{user + "settings.json": `{"packages": ["npm:dcp-client", "npm:magic", "git:github.com/magic-context-fans/tools"], "extensions": ["!**/x.ts"]}`},
			false,
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newPi(t)
			for name, content := range test.files {
				h.write(h.root+name, content)
			}
			if test.project {
				h.Project = filepath.Join(h.root, "p")
			}
			before := h.contents()
			_, err := Install(context.Background(), h.Options)
			if test.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var conflict *ConflictError
			if !errors.As(err, &conflict) {
				t.Fatalf("install: %v, want conflicts", err)
			}
			rest := filepath.ToSlash(err.Error())
			for _, piece := range test.want {
				_, after, ok := strings.Cut(rest, piece)
				if !ok {
					t.Errorf("%q does not come next in\n%s", piece, rest)
				}
				rest = after
			}
			if diff := cmp.Diff(before, h.contents()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
		})
	}
}

// A user may commit the files of a project, so they must not contain paths of this machine. Pi asks the user whether to
// trust the project, so the plan must mention this.
func TestPiProjectInstall(t *testing.T) {
	h := newPi(t)
	h.Project = filepath.Join(h.root, "p")
	h.write(filepath.Join(h.Project, "x"), "")
	before := h.traces()
	plan := h.install()
	if !slices.ContainsFunc(plan.Notes, func(note string) bool { return strings.Contains(note, "trust") }) {
		t.Errorf("nothing is said about trust: %q", plan.Notes)
	}
	h.apply(plan)
	for name, content := range h.contents() {
		if strings.HasPrefix(name, "/p/") && strings.Contains(content, h.root) {
			t.Errorf("%s names a path of this machine:\n%s", name, content)
		}
	}
	if got := decode(t, h.read(filepath.Join(h.Project, ".pi", "settings.json")))["packages"]; !cmp.Equal(got, []any{"./pi-shim/index.js"}) {
		t.Errorf("packages are %v", got)
	}
	if got := h.read(filepath.Join(h.Project, ".pi", "pi-shim", "index.js")); got != "loader 1" {
		t.Errorf("the loader is %q", got)
	}
	h.uninstall()
	if diff := cmp.Diff(before, h.traces()); diff != "" {
		t.Errorf("a trace is left (-before +after):\n%s", diff)
	}
}

// Both harnesses share the data directory and the copy of the program. So an uninstallation from one harness must not
// remove what the other harness still needs.
func TestUninstallLeavesTheOtherHarness(t *testing.T) {
	for _, order := range [][]*Harness{{OpenCode, Pi}, {Pi, OpenCode}} {
		t.Run(order[0].Name+" first", func(t *testing.T) {
			h := newPi(t)
			cached := filepath.Join(h.root, "_npx", "1a2b", "magicctx-host")
			h.write(cached, "program")
			if err := h.Shim.UseHost(h.Place, cached, cached); err != nil {
				t.Fatal(err)
			}
			empty := h.traces()
			for _, harness := range order {
				h.Harness = harness
				h.apply(h.install())
			}
			h.Harness = order[0]
			h.uninstall()
			if _, err := os.Stat(h.shimFile(bundleName)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the plugin of %s is still there: %v", h.Harness.Name, err)
			}
			h.Harness = order[1]
			if found := h.problems(); len(found) > 0 || h.read(h.shimFile(bundleName)) != "bundle 1" {
				t.Errorf("the plugin of %s has gone, too: %v", h.Harness.Name, found)
			}
			h.uninstall()
			if diff := cmp.Diff(empty, h.traces()); diff != "" {
				t.Errorf("a trace is left (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPiPluginSpec(t *testing.T) {
	h := newPi(t)
	h.write(filepath.Join(h.root, "x.js"), "")
	for named, want := range map[string]string{
		"@magicctx/pi@1.2.3": "npm:@magicctx/pi@1.2.3", "npm:other": "npm:other", filepath.Join(h.root, "x.js"): filepath.Join(h.root, "x.js"),
	} {
		if got, err := h.PluginSpec(named); got != want || err != nil {
			t.Errorf("%s becomes %s (%v), want %s", named, got, err, want)
		}
	}
	if _, err := h.PluginSpec("./nowhere.js"); err == nil {
		t.Error("a file that does not exist is taken")
	}
	for spec, want := range map[string]bool{
		"npm:@magicctx/pi@1": true, "@magicctx/pi": true, "../data/pi-shim/index.js": true, "pi-shim/index.js": true,
		"npm:@magicctx/opencode": false, "git:github.com/u/pi-shim": false, "./my-pi-shim/index.js": false,
	} {
		if got := h.isShim(spec); got != want {
			t.Errorf("isShim(%s) = %t", spec, got)
		}
	}
}
