package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/jsonc"
)

const shim = "/opt/shim/index.js"

var openCode = Place{Harness: OpenCode, Env: func(string) string { return "" }}

func never(string) bool { return false }

func enabled(t *testing.T, before string) string {
	t.Helper()
	d, err := jsonc.ParseDocument("opencode.jsonc", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	if err := (configuration{d, openCode}).enable(shim, "", never); err != nil {
		t.Fatal(err)
	}
	return string(d.Bytes())
}

func disabled(t *testing.T, before, installed string) string {
	t.Helper()
	original, err := jsonc.ParseDocument("opencode.jsonc", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	f, err := configuration{original, openCode}.former(shim)
	if err != nil {
		t.Fatal(err)
	}
	d, err := jsonc.ParseDocument("opencode.jsonc", []byte(installed))
	if err != nil {
		t.Fatalf("%v in\n%s", err, installed)
	}
	if err := (configuration{d, openCode}).disable(shim, f); err != nil {
		t.Fatal(err)
	}
	return string(d.Bytes())
}

func TestInsertionFollowsTheStyleOfTheFile(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{
			"two blanks",
			"{\n  \"model\": \"a/b\"\n}\n",
			"{\n  \"model\": \"a/b\",\n  \"plugin\": [\"/opt/shim/index.js\"],\n  \"compaction\": {\n    \"auto\": false,\n    \"prune\": false\n  }\n}\n",
		},
		{
			"tabs, trailing comma, comments",
			"// mine\n{\n\t\"model\": \"a/b\", // best\n\t// last words\n}\n",
			"// mine\n{\n\t\"model\": \"a/b\", // best\n\t// last words\n\t\"plugin\": [\"/opt/shim/index.js\"],\n\t\"compaction\": {\n\t\t\"auto\": false,\n\t\t\"prune\": false\n\t},\n}\n",
		},
		{
			"comment after a last member without comma",
			"{\n  \"model\": \"a/b\" // best\n}",
			"{\n  \"model\": \"a/b\", // best\n  \"plugin\": [\"/opt/shim/index.js\"],\n  \"compaction\": {\n    \"auto\": false,\n    \"prune\": false\n  }\n}",
		},
		{
			"carriage returns and byte order mark",
			"\ufeff{\r\n  \"model\": \"a/b\" // best\r\n}\r\n",
			"\ufeff{\r\n  \"model\": \"a/b\", // best\r\n  \"plugin\": [\"/opt/shim/index.js\"],\r\n  \"compaction\": {\r\n    \"auto\": false,\r\n    \"prune\": false\r\n  }\r\n}\r\n",
		},
		{
			"one line",
			`{ "model": "a/b" }`,
			`{ "model": "a/b", "plugin": ["/opt/shim/index.js"], "compaction": { "auto": false, "prune": false } }`,
		},
		{
			"without a blank",
			`{"a":1,"b":2}`,
			`{"a":1,"b":2,"plugin":["/opt/shim/index.js"],"compaction":{"auto":false,"prune":false}}`,
		},
		{
			"plugins in lines, with a tuple",
			"{\n  \"plugin\": [\n    // favourites\n    \"one\",\n    [\"two\", {\"x\": 1}] // second\n  ],\n  \"compaction\": {\"auto\": true, \"reserved\": 9}\n}\n",
			"{\n  \"plugin\": [\n    // favourites\n    \"one\",\n    [\"two\", {\"x\": 1}], // second\n    \"/opt/shim/index.js\"\n  ],\n  \"compaction\": {\"auto\": false, \"reserved\": 9, \"prune\": false}\n}\n",
		},
		{
			"empty containers",
			"{\n  \"plugin\": [],\n  \"compaction\": {}\n}\n",
			"{\n  \"plugin\": [\"/opt/shim/index.js\"],\n  \"compaction\": {\n    \"auto\": false,\n    \"prune\": false\n  }\n}\n",
		},
		{
			"comment in the last line",
			"{\"a\": 1} // the end",
			"{\"a\": 1, \"plugin\": [\"/opt/shim/index.js\"], \"compaction\": {\"auto\": false, \"prune\": false}} // the end",
		},
		{
			"listed as a tuple already",
			`{"plugin": [["/opt/./shim/index.js", {"x": 1}]], "compaction": {"auto": false, "prune": false}}`,
			`{"plugin": [["/opt/./shim/index.js", {"x": 1}]], "compaction": {"auto": false, "prune": false}}`,
		},
		{
			"escaped name",
			`{"pl\u0075gin": []}`,
			`{"pl\u0075gin": ["/opt/shim/index.js"], "compaction": {"auto": false, "prune": false}}`,
		},
		{
			"empty root",
			"{}",
			"{\n  \"plugin\": [\"/opt/shim/index.js\"],\n  \"compaction\": {\n    \"auto\": false,\n    \"prune\": false\n  }\n}",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := enabled(t, tt.before)
			if got != tt.after {
				t.Errorf("installing in\n%s\nis wrong (-want +got):\n%s", tt.before, cmp.Diff(tt.after, got))
			}
			if again := enabled(t, got); again != got {
				t.Errorf("a second installation changes\n%s", cmp.Diff(got, again))
			}
			if back := disabled(t, tt.before, got); back != tt.before {
				t.Errorf("removing leaves a trace (-before +after):\n%s", cmp.Diff(tt.before, back))
			}
		})
	}
}

// The user edits the file after the installation.
func TestRemovalKeepsLaterEdits(t *testing.T) {
	tests := []struct{ name, before, edited, want string }{
		{
			"a member and a comment after ours",
			"{\n  \"a\": 1\n}\n",
			"{\n  \"a\": 1,\n  \"plugin\": [\"/opt/shim/index.js\"], // magic\n  \"compaction\": {\n    \"auto\": false,\n    \"prune\": false\n  },\n  \"b\": 2 // new\n}\n",
			"{\n  \"a\": 1,\n  // magic\n  \"b\": 2 // new\n}\n",
		},
		{
			"options and a neighbour for our plugin",
			"{\n  \"a\": 1\n}\n",
			"{\n  \"a\": 1,\n  \"plugin\": [[\"/opt/shim/index.js\", {\"x\": 1}], \"other\"]\n}\n",
			"{\n  \"a\": 1,\n  \"plugin\": [\"other\"]\n}\n",
		},
		{
			"compaction switched on again, and another key",
			"{\n  \"compaction\": {\"prune\": true}\n}\n",
			"{\n  \"compaction\": {\"prune\": false, \"auto\": true, \"reserved\": 7},\n  \"plugin\": [\"/opt/shim/index.js\"]\n}\n",
			"{\n  \"compaction\": {\"prune\": true, \"auto\": true, \"reserved\": 7}\n}\n",
		},
		{
			"a comment in our object",
			"{}\n",
			"{\n  \"compaction\": {\n    // keep off!\n    \"auto\": false,\n    \"prune\": false\n  }\n}\n",
			"{\n  \"compaction\": {\n    // keep off!\n  }\n}\n",
		},
		{
			// OpenCode inserts a missing $schema.
			"$schema in front",
			"{\n  \"a\": 1\n}\n",
			strings.Replace("{\n  \"a\": 1,\n  \"plugin\": [\"/opt/shim/index.js\"],\n  \"compaction\": {\n    \"auto\": false,\n    \"prune\": false\n  }\n}\n", "{", "{\n  \"$schema\": \"s\",", 1),
			"{\n  \"$schema\": \"s\",\n  \"a\": 1\n}\n",
		},
		{
			"our plugin taken out by hand",
			"{\"a\": 1}",
			`{"a": 1, "plugin": [], "compaction": {"auto": false}}`,
			`{"a": 1}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := disabled(t, tt.before, tt.edited); got != tt.want {
				t.Errorf("removing from\n%s\n(-want +got):\n%s", tt.edited, cmp.Diff(tt.want, got))
			}
		})
	}
}

func TestErrorsNameThePosition(t *testing.T) {
	tests := []struct{ content, want string }{
		{"{\n  \"a\": 1,\n  b\n}", "oc.json:3:3: invalid literal: b"},
		{"\ufeff{\n  \"a\": 1,\n  b\n}", "oc.json:3:3: invalid literal: b"},
		{"{\"a\": 1", "oc.json:2:1: parsing object after value: unexpected EOF"},
		{"[1]", "oc.json:1:1: not an object"},
		{"{\n  \"plugin\": \"x\"\n}", "oc.json:2:13: \"plugin\" is not a list"},
		{"{\"compaction\": true}", "oc.json:1:16: \"compaction\" is not an object"},
		{strings.Repeat("[", 600), "oc.json: nested too deeply"},
	}
	for _, tt := range tests {
		d, err := jsonc.ParseDocument("oc.json", []byte(tt.content))
		if err == nil {
			err = configuration{d, openCode}.enable(shim, "", never)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: error %v, want %q", tt.content, err, tt.want)
		}
	}
}
