package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var failure = regexp.MustCompile(`(?m)^fail .*`)

// A project's loader loads the plugin in the data directory, and the plugin finds its host there. doctor must follow
// this chain. Otherwise, it would believe that the plugin cannot work, and doctor --fix would switch the harness's own
// compaction on.
func TestDoctorFollowsTheLoaderOfAProject(t *testing.T) {
	for name, installations := range map[string][][]string{
		"project only":        {{"opencode", "--project"}, {"pi", "--project"}},
		"project and user":    {{"opencode", "--project"}, {"opencode"}, {"pi", "--project"}, {"pi"}},
		"user before project": {{"opencode"}, {"opencode", "--project"}, {"pi"}, {"pi", "--project"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t) // here the host is not on the PATH
			t.Setenv("PI_CODING_AGENT_DIR", "")
			for _, args := range installations {
				if out, errs, code := c.command(append([]string{"install", "--yes"}, args...)...); code != 0 {
					t.Fatalf("install %v ended with %d:\n%s%s", args, code, out, errs)
				}
			}
			before := c.files()
			out, errs, code := c.command("doctor")
			if found := failure.FindAllString(out, -1); code != 0 || len(found) > 0 {
				t.Errorf("doctor ended with %d: %s\n%s", code, errs, strings.Join(found, "\n"))
			}
			for _, harness := range []string{"OpenCode", "Pi"} {
				if n := strings.Count(out, "the plugin of "+harness+" starts "); n != 1 {
					t.Errorf("doctor names the host of %d plugins of %s, want 1:\n%s", n, harness, out)
				}
			}
			if out, errs, code := c.command("doctor", "--fix"); code != 0 || strings.Contains(out, "fixed") {
				t.Errorf("doctor --fix ended with %d:\n%s%s", code, out, errs)
			}
			if diff := cmp.Diff(before, c.files()); diff != "" {
				t.Errorf("doctor --fix changed files (-before +after):\n%s", diff)
			}
		})
	}
}

// Bug P11: after the program was moved, doctor reported the missing program twice for each plugin.
func TestDoctorTellsAMovedHostOnce(t *testing.T) {
	c := newClone(t)
	t.Setenv("PI_CODING_AGENT_DIR", "")
	for _, harness := range []string{"opencode", "pi"} {
		if out, errs, code := c.command("install", harness, "--yes"); code != exitOK {
			t.Fatalf("install ended with %d:\n%s%s", code, out, errs)
		}
	}
	for _, shim := range []string{"opencode-shim", "pi-shim"} {
		c.write("home/data/"+shim+"/host.json", `{"host": "/moved/magicctx-host"}`)
	}
	if err := os.RemoveAll(filepath.Join(c.home, "data", "bin")); err != nil { // the test program is in a cache, so install made a copy of it, which must also be gone
		t.Fatal(err)
	}
	out, _, code := c.command("doctor")
	if found := failure.FindAllString(out, -1); code != exitFailed || len(found) != 2 || strings.Count(out, "/moved/magicctx-host, which is gone") != 2 {
		t.Errorf("doctor ended with %d and %d failures, want 2:\n%s", code, len(found), out)
	}
}
