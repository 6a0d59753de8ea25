package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/store/plugindb/plugindbtest"
)

func TestImport(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("XDG_DATA_HOME", "")
	dir := filepath.Join(home, "data")
	plugin := plugindbtest.New(t, dir, 36)
	plugin.Memory("git:1", "NAMING", "the zebra is called Zoe", "")
	shim := filepath.Join(home, "shim.js")
	if err := os.WriteFile(shim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ args, out, errs string }{
		{"import --data-dir " + home, "", "no such file or directory; name the file in which the TypeScript plugin keeps its data"},
		{"import --data-dir " + dir + " --dry-run", "memories: 1 row, 1 taken\n", ""},
		{"memory list --data-dir " + dir, "magicctx remembers nothing yet.", ""},
		{"install opencode --yes --plugin " + shim + " --data-dir " + dir, "memories: 1 row, 1 taken\n", ""},
		{"memory list --data-dir " + dir, "the zebra is called Zoe", ""},
		{"import --json --data-dir " + home + " " + plugin.Path, `"taken": 1`, ""},
		{"import --data-dir " + dir, "memories: 1 row, 0 taken\n  1 left out: taken before\n", ""},
		{"install pi --yes --plugin " + shim + " --data-dir " + dir, "Installed.", ""},
	} {
		out, errs, code := runReal(t, strings.Fields(step.args)...)
		if !strings.Contains(out, step.out) || !strings.Contains(errs, step.errs) || (code == exitOK) != (step.errs == "") {
			t.Errorf("%s: exit code %d\n%s%s", step.args, code, out, errs)
		}
		if strings.Contains(step.args, "install pi") && strings.Contains(out, "memories") {
			t.Errorf("install offers an import again:\n%s", out)
		}
	}
}
