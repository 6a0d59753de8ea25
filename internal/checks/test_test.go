package checks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

const unknown = "?"

func TestChecks(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "secret key")
	write(t, filepath.Join(dir, "sub", "Taskfile.yml"), "cmd: go test ./...\n")
	write(t, filepath.Join(dir, "hash"), "abc")
	write(t, filepath.Join(dir, "full"), strings.Repeat("x", maxFile-3)+"end")
	write(t, filepath.Join(dir, "large"), strings.Repeat("x", maxFile)+"end")
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "out")))
	must(t, os.Symlink(outside, filepath.Join(dir, "outdir")))
	must(t, os.Symlink("hash", filepath.Join(dir, "in")))
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer root.Close()
	for check, want := range map[string]string{
		"sub":                        "",
		"sub/Taskfile.yml":           "",
		"sub/Taskfile.yml: go test":  "",
		"sub/Taskfile.yml: bun test": `sub/Taskfile.yml no longer has "bun test"`,
		"Taskfile.yml":               "Taskfile.yml is gone",
		"Taskfile.yml: go test":      "Taskfile.yml is gone",
		"sub/Taskfile.yml/x":         unknown,
		"hash: sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad": "",
		"hash: sha256:0000000000000000000000000000000000000000000000000000000000000000": "hash has changed",
		"full: end":         "",
		"large":             "",
		"large: end":        unknown,
		"out":               "", // the link itself is there
		"out: secret":       unknown,
		"out: nothing":      unknown,
		"outdir/secret":     unknown,
		"outdir/secret: se": unknown,
		"outdir/nothing":    unknown,
		"in: abc":           unknown,
		"sub: abc":          unknown,
	} {
		c, err := chronicle.ParseCheck(check)
		must(t, err)
		got, err := test(root, c)
		if err != nil {
			got = unknown
		}
		if got != want {
			t.Errorf("%s: %q (%v), want %q", check, got, err, want)
		}
	}
}

func TestWrongChecksAreRefused(t *testing.T) {
	for _, check := range []string{
		"", ": x", "/etc/passwd", "../x", "a/../../x", "a: ", "a: sha256:12", "a\nb", "a: b\x00", strings.Repeat("a", 301),
	} {
		if c, err := chronicle.ParseCheck(check); err == nil {
			t.Errorf("%q: %+v", check, c)
		}
	}
}
