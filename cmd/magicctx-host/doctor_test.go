package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var failure = regexp.MustCompile(`(?m)^fail .*`)

// The loader of a project loads the plugin in the data directory, and that plugin finds its host there.
// So doctor looks there, too. In a healthy project, doctor must not switch the harness's own compaction
// on again.
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

// P11: once, after the program was moved, doctor reported the same cause twice for each plugin.
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
	if err := os.RemoveAll(filepath.Join(c.home, "data", "bin")); err != nil { // the test program is in a cache, so install makes a copy; delete that copy
		t.Fatal(err)
	}
	out, _, code := c.command("doctor")
	if found := failure.FindAllString(out, -1); code != exitFailed || len(found) != 2 || strings.Count(out, "/moved/magicctx-host, which is gone") != 2 {
		t.Errorf("doctor ended with %d and %d failures, want 2:\n%s", code, len(found), out)
	}
}

// A server of OpenCode 2 writes its address into a file, which may outlive it.
func TestServerRuns(t *testing.T) {
	state := t.TempDir()
	env := func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }
	server := httptest.NewServer(nil)
	if err := os.MkdirAll(filepath.Join(state, "opencode"), 0o700); err != nil {
		t.Fatal(err)
	}
	if serverRuns(env) {
		t.Error("a server runs without a file")
	}
	for _, content := range []string{`{"url": `, fmt.Sprintf(`{"id": "s", "url": %q, "pid": 1}`, server.URL)} {
		if err := os.WriteFile(filepath.Join(state, "opencode", "service.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !serverRuns(env) {
		t.Error("the server does not run")
	}
	server.Close()
	if serverRuns(env) {
		t.Error("the server still runs")
	}
}

// Pi 0.74 prints its version to stderr. Once, doctor said that its version is "".
func TestVersionMayStandOnStderr(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	program := filepath.Join(t.TempDir(), "pi")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 0.74.2 >&2\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := versionOf(t.Context(), program); err != nil || got != "0.74.2\n" {
		t.Errorf("%q, %v", got, err)
	}
}
