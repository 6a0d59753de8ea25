package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/magicctx/magicctx-host/schema"
)

// Bug H8: install overwrote a file of the repository at the path of magicctx's loader, and uninstall deleted it.
func TestHostileCloneKeepsAForeignLoader(t *testing.T) {
	for harness, repository := range repositoriesWithLoader {
		t.Run(harness, func(t *testing.T) {
			c := newClone(t)
			t.Setenv("PI_CODING_AGENT_DIR", "")
			c.write(repository.settings, repository.content)
			loader := c.write(repository.loader, "export default {}")
			before := c.files()
			_, errs, code := c.command("install", harness, "--project", "--yes")
			if code != exitFailed || !strings.Contains(errs, loader+" is not a loader that was installed here; look at it, remove it") {
				t.Errorf("install ended with %d: %s", code, errs)
			}
			if diff := cmp.Diff(before, c.files()); diff != "" {
				t.Errorf("install changed files (-before +after):\n%s", diff)
			}
		})
	}
}

// The repository's configuration already names magicctx's loader. The loader itself is missing, or is the same as
// magicctx's. uninstall must keep the repository's files, and remove only files that install wrote.
func TestUninstallKeepsFilesOfTheRepository(t *testing.T) {
	for harness, repository := range repositoriesWithLoader {
		for name, content := range map[string][]byte{"no loader": nil, "our loader": carried[schema.Harness(harness)].Loader} {
			t.Run(harness+" "+name, func(t *testing.T) {
				c := newClone(t)
				t.Setenv("PI_CODING_AGENT_DIR", "")
				c.write(repository.settings, repository.content)
				if content != nil {
					c.write(repository.loader, string(content))
				}
				before := c.files()
				for _, command := range []string{"install", "uninstall"} {
					if out, errs, code := c.command(command, harness, "--project", "--yes"); code != exitOK {
						t.Fatalf("%s ended with %d: %s%s", command, code, out, errs)
					}
				}
				if diff := cmp.Diff(before, c.files()); diff != "" {
					t.Errorf("install and uninstall changed files (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// Each configuration of a project names a loader.
var repositoriesWithLoader = map[string]struct{ settings, content, loader string }{
	"opencode": {
		"project/opencode.json", `{"plugin": ["./.opencode/opencode-shim/index.js"], "compaction": {"auto": false, "prune": false}}`,
		"project/.opencode/opencode-shim/index.js",
	},
	"pi": {"project/.pi/settings.json", `{"packages": ["./pi-shim/index.js"]}`, "project/.pi/pi-shim/index.js"},
}

// P10: both harnesses use the same schema of the settings. So an uninstallation from one of them must keep it.
func TestUninstallLeavesTheSchemaToTheOtherHarness(t *testing.T) {
	c := newClone(t)
	t.Setenv("PI_CODING_AGENT_DIR", "")
	before := c.files()
	schemaFile := filepath.Join(c.home, "data", "magicctx.schema.json")
	for _, step := range []struct {
		args      []string
		hasSchema bool
	}{
		{[]string{"install", "opencode"}, true},
		{[]string{"install", "pi"}, true},
		{[]string{"uninstall", "pi"}, true},
		{[]string{"uninstall", "opencode"}, false},
	} {
		out, errs, code := c.command(append(step.args, "--yes")...)
		if _, err := os.Stat(schemaFile); code != exitOK || (err == nil) != step.hasSchema {
			t.Errorf("%v ended with %d, the schema: %v\n%s%s", step.args, code, err, out, errs)
		}
	}
	if diff := cmp.Diff(before, c.files()); diff != "" {
		t.Errorf("files left over (-before +after):\n%s", diff)
	}
}

// Bug H8: after the installation, a directory of the project became a link into another project. uninstall then deleted
// the other project's loader.
func TestHostileCloneUninstallFollowsNoLink(t *testing.T) {
	c := newClone(t)
	t.Setenv("PI_CODING_AGENT_DIR", "")
	c.write("other/opencode.json", "{}")
	c.write("project/opencode.json", "{}")
	for _, dir := range []string{"other", "project"} {
		t.Chdir(filepath.Join(c.root, dir))
		for _, harness := range []string{"opencode", "pi"} {
			if _, errs, code := c.command("install", harness, "--project", "--yes"); code != exitOK {
				t.Fatalf("install in %s ended with %d: %s", dir, code, errs)
			}
		}
	}
	want := c.files()
	for _, dir := range []string{".opencode", ".cortexkit"} {
		if err := os.RemoveAll(filepath.Join(c.project, dir)); err != nil {
			t.Fatal(err)
		}
		c.link(filepath.Join(c.root, "other", dir), filepath.Join("project", dir))
	}
	out, errs, code := c.command("uninstall", "opencode", "--project", "--yes")
	if code != exitOK || strings.Contains(out, "delete "+filepath.Join(c.project, ".opencode")) {
		t.Errorf("uninstall ended with %d:\n%s%s", code, out, errs)
	}
	got := c.files()
	for file, content := range want {
		if strings.HasPrefix(file, filepath.Join(c.root, "other")) && got[file] != content {
			t.Errorf("%s of the other project is gone or changed", file)
		}
	}
}

// Bug H8: the repository had a file at the path of magicctx's loader. doctor said that the file starts the host.
func TestHostileCloneLoaderIsNotOurs(t *testing.T) {
	c := newClone(t)
	if out, errs, code := c.command("install", "opencode", "--project", "--yes"); code != 0 {
		t.Fatalf("install ended with %d:\n%s%s", code, out, errs)
	}
	loader := c.write("project/.opencode/opencode-shim/index.js", "export default {}")
	vendored := "project/vendor/opencode-shim/index.js"
	for file, prepare := range map[string]func(){
		loader: func() { c.write("project/opencode.json", `{"plugin": ["./.opencode/opencode-shim/index.js"]}`) },
		c.write(vendored, "export default {}"): func() {
			c.write("project/opencode.json", `{"plugin": ["./vendor/opencode-shim/index.js"]}`)
			c.write("project/vendor/opencode-shim/host.json", `{"host": "/usr/bin/true"}`)
		},
	} {
		prepare()
		out, errs, _ := c.command("doctor")
		if !strings.Contains(out, file+", which is not the plugin of this version") || strings.Contains(out, "the plugin of OpenCode starts ") {
			t.Errorf("doctor says nothing about %s:\n%s%s", file, out, errs)
		}
	}
}

// Bug H10: a file of a repository made magicctx stop working there, for example an empty file with the name of another
// context plugin. doctor --fix then changed the user's own configuration, which applies to all projects.
func TestHostileCloneDoctorLeavesTheUserAlone(t *testing.T) {
	for name, prepare := range map[string]func(*clone){
		"another plugin":    func(c *clone) { c.write("project/.opencode/plugin/dcp.js", "") },
		"listed":            func(c *clone) { c.write("project/opencode.json", `{"plugin": ["@tarquinen/opencode-dcp"]}`) },
		"switched off":      func(c *clone) { c.write("project/magicctx.jsonc", `{"enabled": false}`) },
		"missing plugin":    func(c *clone) { c.write("project/opencode.json", `{"plugin": ["./x/opencode-shim/index.js"]}`) },
		"broken":            func(c *clone) { c.write("project/opencode.json", `{"plugin": [`) },
		"broken compaction": func(c *clone) { c.write("project/opencode.json", `{"compaction": 3}`) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t)
			if out, errs, code := c.command("install", "opencode", "--yes"); code != exitOK {
				t.Fatalf("install ended with %d:\n%s%s", code, out, errs)
			}
			prepare(c)
			before := c.files()
			out, errs, _ := c.command("doctor", "--fix")
			if diff := cmp.Diff(before, c.files()); diff != "" {
				t.Errorf("doctor --fix changed files (-before +after):\n%s\n%s%s", diff, out, errs)
			}
			t.Log(out)
		})
	}
}
