package main

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/store"
)

func TestWorkspaces(t *testing.T) {
	dir, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	s, err := store.Open(t.Context(), store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Clock: clock.System{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for _, step := range []struct {
		args string
		code int
		out  string
	}{
		{"list", exitOK, "There is no workspace: each project sees only its own memories.\n"},
		{"set w", exitOK, "w shares CONSTRAINTS\n"},
		{"set w --share naming,constraints", exitOK, "w shares CONSTRAINTS, NAMING\n"},
		{"set w --share secrets", exitFailed, `category is "SECRETS"`},
		{"join w --as one --project " + one, exitOK, "  one (dir:"},
		{"join w --as one --project " + two, exitFailed, `another project of the workspace has the name "one"`},
		{"join none --project " + two, exitFailed, `there is no workspace "none"`},
		{"join w --as two --project " + two, exitOK, "  two (dir:"},
		{"set w --share=", exitOK, "w shares nothing\n"},
		{"list --json", exitOK, `"shares": []`},
		{"leave --project " + two, exitOK, "  one (dir:"},
		{"leave --project " + two, exitFailed, "the project is in no workspace"},
		{"rm w", exitOK, "There is no workspace"},
	} {
		out, errs, code := runReal(t, append([]string{"workspace"}, append(strings.Fields(step.args), "--data-dir", dir)...)...)
		if code != step.code || !strings.Contains(out+errs, step.out) {
			t.Errorf("%s: exit code %d, %s%s", step.args, code, out, errs)
		}
	}
}
