package install

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConflictsAreNamedAndNothingIsTouched(t *testing.T) {
	const user = "/.config/opencode/"
	tests := []struct {
		name    string
		files   map[string]string
		project bool
		want    []string // a part of each conflict's message, in order
	}{
		{
			"the TypeScript plugin",
			map[string]string{user + "opencode.json": `{"plugin": ["@cortexkit/opencode-magic-context@latest"]}`},
			false,
			[]string{user + `opencode.json:1:13`, `remove "@cortexkit/opencode-magic-context@latest" from "plugin"`},
		},
		{
			"its checkout",
			map[string]string{
				user + "opencode.json":              `{"plugin": [["../../src/packages/plugin/src/index.ts", {}]]}`,
				"/src/packages/plugin/package.json": `{"name": "@cortexkit/opencode-magic-context"}`,
			},
			false,
			[]string{user + `opencode.json:1:14`},
		},
		{
			"its copy in the plugin directory",
			map[string]string{user + "plugins/magic-context.ts": ""},
			false,
			[]string{user + "plugins/magic-context.ts", "move it"},
		},
		{
			"pruning in the list of version 2",
			map[string]string{user + "opencode.json": `{"plugins": ["opencode.x", {"package": "@tarquinen/opencode-dcp", "options": {}}, {}]}`},
			false,
			[]string{user + "opencode.json:1:40", "prunes the same messages", `from "plugins"`},
		},
		{
			"the plugin in the list of version 2",
			map[string]string{user + "opencode.json": `{"plugins": ["@magicctx/opencode"]}`},
			false,
			[]string{user + "opencode.json:1:14", "would load it twice", `from "plugins"`},
		},
		{
			"the plugin in both lists",
			map[string]string{user + "opencode.json": `{"plugin": ["@magicctx/opencode"], "plugins": ["@magicctx/opencode@1"]}`},
			false,
			[]string{user + "opencode.json:1:48", "would load it twice", `from "plugins"`},
		},
		{
			"pruning",
			map[string]string{user + "opencode.jsonc": "{\n  // prune\n  \"plugin\": [[\"@tarquinen/opencode-dcp@1.2\", {}]]\n}"},
			false,
			[]string{user + "opencode.jsonc:3:15", "prunes the same messages"},
		},
		{
			"the user's plugin in a project",
			map[string]string{user + "opencode.json": `{"plugin": ["@tarquinen/opencode-dcp"]}`},
			true,
			[]string{user + "opencode.json:1:13"},
		},
		{
			"pruning from a checkout",
			map[string]string{
				user + "opencode.json":               `{"plugin": ["../../src/opencode-dcp/dist/index.js"]}`,
				"/src/opencode-dcp/dist/index.js":    "",
				"/src/opencode-dcp/dist/other.json":  "{}",
				"/p/.opencode/plugins/unrelated.ts":  "",
				"/p/.opencode/plugins/dcp-notes.txt": "",
			},
			true,
			[]string{user + "opencode.json:1:13", "prunes the same messages"},
		},
		{
			"pruning from a path of the project",
			map[string]string{"/p/package.json": `{"name": "mine"}`, "/p/opencode.json": `{"plugin": ["./tools/dcp.ts"]}`, "/p/tools/dcp.ts": ""},
			true,
			[]string{"/p/opencode.json:1:13", "prunes the same messages"},
		},
		{
			"pruning in the plugin directories",
			map[string]string{
				user + "plugins/opencode-dcp.js": "",
				user + "plugin/prune.ts":         `export { default } from "@tarquinen/opencode-dcp"`,
				"/p/.opencode/plugins/dcp.ts":    "",
			},
			true,
			[]string{user + "plugin/prune.ts", user + "plugins/opencode-dcp.js", "/p/.opencode/plugins/dcp.ts", "move it"},
		},
		{
			"plugins that only mention it, in a directory of that name",
			map[string]string{
				"/p/package.json":  `{"name": "mine"}`,
				"/p/opencode.json": `{"plugin": ["./dcp/index.ts", "./gone/dcp.ts"]}`,
				"/p/dcp/index.ts":  `// works beside @tarquinen/opencode-dcp`,
			},
			true,
			nil,
		},
		{
			"orchestrator",
			map[string]string{
				user + "opencode.json":         `{"plugin": ["oh-my-openagent@3"]}`,
				user + "oh-my-openagent.jsonc": "{\n  // off\n  \"disabled_hooks\": [\"context-window-monitor\"],\n}",
			},
			false,
			[]string{"preemptive-compaction", user + "oh-my-openagent.jsonc", "anthropic-context-window-limit-recovery"},
		},
		{
			"compaction in a file that wins",
			map[string]string{"/p/opencode.json": "{}", "/p/.opencode/opencode.json": `{"compaction": {"auto": true}}`},
			true,
			[]string{"/p/.opencode/opencode.json:1:25", "compaction.auto is on here"},
		},
		{
			"compaction in a file that loses",
			map[string]string{user + "opencode.json": `{"compaction": {"auto": true}}`, user + "opencode.jsonc": `{}`},
			false,
			nil,
		},
		{
			"hooks all disabled",
			map[string]string{
				user + "opencode.json":       `{"plugin": ["oh-my-opencode"]}`,
				user + "oh-my-opencode.json": `{"disabled_hooks": ["preemptive-compaction", "context-window-monitor", "anthropic-context-window-limit-recovery"]}`,
			},
			false,
			nil,
		},
		{
			"a fork, and paths that only sound alike",
			map[string]string{
				user + "opencode.json": `{"plugin": ["@me/oh-my-opencode", "/x/@tarquinen/opencode-dcp", "opencode-dcp"]}`,
			},
			false,
			nil,
		},
		{
			"the shim in a directory named like the plugin",
			map[string]string{
				user + "opencode.json": `{"plugin": ["/home/u/magic-context/adapters/opencode-shim/dist/index.js"]}`,
			},
			false,
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			for name, content := range tt.files {
				h.write(h.root+name, content)
			}
			if tt.project {
				h.Project = filepath.Join(h.root, "p")
			}
			before := h.contents()
			_, err := Install(context.Background(), h.Options)
			if tt.want == nil {
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
			for _, piece := range tt.want {
				_, after, ok := strings.Cut(rest, piece)
				if !ok {
					t.Errorf("%q does not come next in\n%s", piece, rest)
				}
				rest = after
			}
			if strings.Contains(err.Error(), "context-window-monitor") {
				t.Error("a hook that is disabled is named")
			}
			if diff := cmp.Diff(before, h.contents()); diff != "" {
				t.Errorf("files changed:\n%s", diff)
			}
		})
	}
}

func TestSameSpec(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"@magicctx/opencode", "@magicctx/opencode@1.2.3", true},
		{"@magicctx/opencode", "@magicctx/pi", false},
		{"name@file:/abs/x.tgz", "name", true},
		{"/opt/shim/index.js", "file:///opt/shim/index.js", true},
		{"/conf/shim.js", "./shim.js", true},
		{"/conf/a b.js", "file:///conf/a%20b.js", true},
		{"/conf/shim.js", "/conf/other.js", false},
		{"shim.js", "./shim.js", false},
	}
	for _, tt := range tests {
		if got := openCode.sameSpec("/conf/opencode.json", tt.a, tt.b); got != tt.want {
			t.Errorf("sameSpec(%s, %s) = %t", tt.a, tt.b, got)
		}
	}
}
