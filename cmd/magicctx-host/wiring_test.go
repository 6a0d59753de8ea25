package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/doctor"
	"github.com/magicctx/magicctx-host/internal/install"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// docs/recipes/harness.md lists the parts of a harness.
func TestEveryHarnessIsWhole(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	for _, harness := range schema.Harnesses {
		id := harness.Program()
		if !slices.ContainsFunc(install.Harnesses, func(h *install.Harness) bool { return h.ID == id }) {
			t.Errorf("%s cannot be installed", id)
		}
		if _, err := (rawhistory.Reader{Env: env}).Read(t.Context(), rawhistory.Session{Harness: id, ID: "none"}, 1, 1, nil); errors.Is(err, rawhistory.ErrUnknownHarness) {
			t.Errorf("%s has no reader of its history", id)
		}
		if _, ok := transcript.CodecOf(string(harness)); !ok {
			t.Errorf("%s has no codec", harness)
		}
		if s := carried[id]; len(s.Bundle) == 0 || len(s.Loader) == 0 {
			t.Errorf("the program carries no plugin for %s", id)
		}
		if !doctor.KnowsVersions(id) {
			t.Errorf("doctor knows no version of %s", id)
		}
		user, project := config.Candidates(config.Options{Harness: harness, Directory: "/p", Env: env})
		own := func(file string) bool { return strings.Contains(file, string(id)) }
		if !slices.ContainsFunc(user, own) || !slices.ContainsFunc(project, own) {
			t.Errorf("%s has no magicctx.jsonc of its own: %q, %q", id, user, project)
		}
	}
}

// All harnesses share one host, but each has its own configuration file. If several files set idle_exit_minutes, the
// longest time applies. If a harness has no file, its default must not replace the time from the other file.
func TestIdleExitOfEachHarness(t *testing.T) {
	for _, test := range []struct {
		openCode, pi string
		want         time.Duration
	}{
		{"", "", 10 * time.Minute},
		{`{"idle_exit_minutes": 3}`, "", 3 * time.Minute},
		{"", `{"idle_exit_minutes": 2}`, 2 * time.Minute},
		{`{"idle_exit_minutes": 3}`, `{"idle_exit_minutes": 60}`, time.Hour},
	} {
		home := t.TempDir()
		for file, content := range map[string]string{".config/opencode/magicctx.jsonc": test.openCode, ".pi/agent/magicctx.jsonc": test.pi} {
			if content == "" {
				continue
			}
			path := filepath.Join(home, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env := func(name string) string { return map[string]string{"HOME": home}[name] }
		if got := idleExitOf(env); got != test.want {
			t.Errorf("OpenCode %s, Pi %s: %v, want %v", test.openCode, test.pi, got, test.want)
		}
	}
}

type muteClient struct{ client.Client }

// If a file switches magicctx off, the notice to the user names this file, even while there is no store.
func TestNoticeNamesTheFileThatSwitchesOff(t *testing.T) {
	for name, damage := range map[string]func(*clone){
		"with a store":    func(*clone) {},
		"without a store": func(c *clone) { c.write("home/data/magicctx.db/is a directory", "") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClone(t)
			c.write("home/data/x", "")
			damage(c)
			file := c.write("project/magicctx.jsonc", "{\n\"enabled\": false}")
			h, closeHost, err := newHost(t.Context(), hostOptions{DataDir: filepath.Join(c.home, "data"), Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer closeHost()
			r, err := h.Initialize(t.Context(), muteClient{}, schema.InitializeParams{Harness: schema.HarnessPi, Directory: c.project})
			if want := "it is switched off in " + file + ":2 (enabled: false)"; err != nil || r.Enabled || r.Reason != want {
				t.Errorf("enabled %v, reason %q, error %v; want %q", r.Enabled, r.Reason, err, want)
			}
		})
	}
}

// If two plugins rewrite the same messages, each destroys the other's cached prefix. So magicctx does nothing until the
// other plugin is removed. Any other conflict is only a warning.
func TestStandsDownBesideAnotherContextPlugin(t *testing.T) {
	c := newClone(t)
	h, closeHost, err := newHost(t.Context(), hostOptions{DataDir: filepath.Join(c.home, "data"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer closeHost()
	files := map[schema.Harness]string{schema.HarnessOpenCode: "project/opencode.json", schema.HarnessPi: "project/.pi/settings.json"}
	for _, test := range []struct {
		harness         schema.Harness
		plugins, remedy string
	}{
		{schema.HarnessOpenCode, `{"plugin": []}`, ""},
		{schema.HarnessOpenCode, `{"plugin": ["@tarquinen/opencode-dcp@latest"]}`, "remove \"@tarquinen/opencode-dcp@latest\" from \"plugin\" in this file"},
		{schema.HarnessOpenCode, `{"plugin": ["\u001b]0;title\u0007my-magic-context"]}`, "remove \"\\u001b]0;title\\u0007my-magic-context\" from \"plugin\" in this file"},
		{schema.HarnessOpenCode, `{"plugin": ["oh-my-opencode"]}`, ""},
		{schema.HarnessOpenCode, `{"plugin": []}`, ""},
		{schema.HarnessPi, `{"packages": ["npm:pi-dcp"]}`, "remove \"npm:pi-dcp\" from \"packages\" in this file"},
		{schema.HarnessPi, `{"packages": []}`, ""},
	} {
		config := c.write(files[test.harness], test.plugins)
		r, err := h.Initialize(t.Context(), muteClient{}, schema.InitializeParams{Harness: test.harness, Directory: c.project})
		if err != nil || r.Enabled != (test.remedy == "") || r.Trouble {
			t.Errorf("beside %s: enabled %v, trouble %v, warnings %q, error %v", test.plugins, r.Enabled, r.Trouble, r.Warnings, err)
		}
		if !strings.Contains(r.Reason, test.remedy) || test.remedy != "" && !strings.Contains(r.Reason, config) {
			t.Errorf("beside %s: the reason is %q", test.plugins, r.Reason)
		}
		if text := strings.Join(append(r.Warnings, r.Reason), ""); strings.ContainsRune(text, '\x1b') {
			t.Errorf("beside %s: a harness would write %q to the terminal", test.plugins, text)
		}
	}
}
