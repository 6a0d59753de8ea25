package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestDisabledAtNamesFileAndLine(t *testing.T) {
	for name, test := range map[string]struct{ user, project, want string }{
		"on":                             {`{}`, `{"enabled": true}`, ""},
		"off in the project":             {`{"enabled": true}`, "{\n\"enabled\": false}", "project/magicctx.jsonc:2"},
		"off for the user":               {`{"enabled": false}`, `{}`, ".config/magicctx/magicctx.jsonc:1"},
		"a project may not enable":       {`{"enabled": false}`, `{"enabled": true}`, ".config/magicctx/magicctx.jsonc:1"},
		"off in both":                    {`{"enabled": false}`, `{"enabled": false}`, "project/magicctx.jsonc:1"},
		"a bad value counts for nothing": {`{"enabled": false}`, `{"enabled": "no"}`, ".config/magicctx/magicctx.jsonc:1"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, content := range map[string]string{".config/magicctx/magicctx.jsonc": test.user, "project/magicctx.jsonc": test.project} {
				file = filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			o := Options{Harness: schema.HarnessPi, Directory: filepath.Join(root, "project"), Env: func(name string) string {
				return map[string]string{"HOME": root}[name]
			}}
			want := ""
			if test.want != "" {
				want = filepath.Join(root, filepath.FromSlash(test.want))
			}
			if got := DisabledAt(o); got != want {
				t.Errorf("DisabledAt is %q, want %q", got, want)
			}
		})
	}
}
