package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
)

// storeSession stores a session whose window has 48,000 tokens. `prompt` is the size of its newest prompt in tokens.
func storeSession(t *testing.T, dir, harness, id string, prompt int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	must(err)
	key := store.Key{Harness: harness, Session: id}
	must(s.CommitPass(t.Context(), store.PassCommit{
		Session: store.SessionRow{Key: key, Directory: "/p", Mode: "primary", Provider: "p", Model: "m", TagCounter: 1, Passes: 1, RawTokens: prompt, LimitTokens: 48_000},
		Pass:    store.PassRow{Pass: 1, Verdict: "steady"},
	}))
	must(s.SaveUsage(t.Context(), key, 1, prompt, 0, 0))
	_, err = s.SaveTitle(t.Context(), key, "Title of "+id)
	must(err)
	must(s.Close())
}

func runReal(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, nil, &o, &e, newHost)
	return o.String(), e.String(), code
}

func TestStatusWithoutAHostShowsTheLastKnownSessions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	storeSession(t, dir, "opencode", "ses_one", 20_000)
	out, errs, code := runReal(t, "status", "--data-dir", dir)
	if code != exitNoHost || !strings.Contains(errs, "no host is running") || !strings.Contains(out, "Title of ses_one") || !strings.Contains(out, "no host runs") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	for _, args := range [][]string{{"ses_one"}, {"one"}, {"--dropped"}} {
		out, errs, code := runReal(t, append([]string{"status", "--data-dir", dir}, args...)...)
		if code != exitNoHost || !strings.Contains(errs, "no host is running") || !strings.Contains(out, "Title of ses_one") {
			t.Errorf("%q: exit code %d\n%s\n%s", args, code, out, errs)
		}
	}
	if _, errs, code := runReal(t, "status", "--data-dir", dir, "ses_two"); code == exitOK || !strings.Contains(errs, `no session "ses_two"`) || !strings.Contains(errs, "no host is running") {
		t.Errorf("an unknown session: exit code %d\n%s", code, errs)
	}
}

func TestUninstallNamesSessionsThatWillNotFit(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("OPENCODE_CONFIG", "")
	t.Setenv("OPENCODE_CONFIG_DIR", "")
	t.Setenv("PI_CODING_AGENT_DIR", "")
	for _, harness := range []string{"opencode", "pi"} {
		if out, errs, code := runReal(t, "install", harness, "--yes", "--data-dir", dir); code != exitOK {
			t.Fatal(out, errs)
		}
		small, large := harness+"_small", harness+"_large"
		storeSession(t, dir, harness, small, 20_000)
		storeSession(t, dir, harness, large, 170_000)
		out, errs, code := runReal(t, "uninstall", harness, "--dry-run", "--data-dir", dir)
		if code != exitOK || strings.Contains(out, small) || harness == "pi" && strings.Contains(out, "opencode_large") ||
			!strings.Contains(out, fmt.Sprintf("the next prompt of %q (%s) has about 170k tokens, in a window of 48k", "Title of "+large, large)) ||
			!strings.Contains(out, "keep magicctx, or choose a model with a larger window") {
			t.Errorf("%s: exit code %d\n%s\n%s", harness, code, out, errs)
		}
	}
}

// Even if the user installs magicctx for all projects, the installation must report another context plugin in the
// current project.
func TestInstallLooksIntoTheCurrentProject(t *testing.T) {
	dir, home, project := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("OPENCODE_CONFIG", "")
	t.Setenv("OPENCODE_CONFIG_DIR", "")
	t.Chdir(project)
	if err := os.WriteFile(filepath.Join(project, "opencode.json"), []byte(`{"plugin": ["@tarquinen/opencode-dcp"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := runReal(t, "install", "opencode", "--dry-run", "--data-dir", dir)
	if code != exitOK || !strings.Contains(out, "Not in this project: ") || !strings.Contains(out, "@tarquinen/opencode-dcp prunes the same messages") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
}
