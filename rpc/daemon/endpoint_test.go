package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEndpointMovesOnFromADirectoryThatIsUnfit(t *testing.T) {
	root := t.TempDir()
	base, temporary, data := filepath.Join(root, "run"), filepath.Join(root, "tmp"), filepath.Join(root, "data")
	for _, dir := range []string{base, temporary, data} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", base)
	t.Setenv("TMPDIR", temporary)
	for _, want := range []string{filepath.Join(base, "magicctx"), temporaryRuntimeDir(), filepath.Join(data, "run")} {
		if err := CheckRuntimeDir(want); err != nil {
			t.Errorf("before it is made: %v", err)
		}
		if _, err := os.Lstat(want); !os.IsNotExist(err) {
			t.Errorf("a look made %s", want)
		}
		e, err := NewEndpoint(data)
		if err != nil {
			t.Fatal(err)
		}
		if looked := EndpointIn(want, data); looked.String() != e.String() {
			t.Errorf("a look finds %s, a host is at %s", looked, e)
		}
		if got := filepath.Dir(e.String()); got != want {
			t.Errorf("socket in %s, want %s", got, want)
		}
		// A file with the directory's name keeps everybody from creating the directory, even root.
		if err := os.Remove(want); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(want, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if CheckRuntimeDir(want) == nil {
			t.Errorf("%s is said to be fit", want)
		}
	}
	_, err := NewEndpoint(data)
	if err == nil {
		t.Fatal("an endpoint without a directory")
	}
	for _, dir := range []string{base, temporary, data} {
		if !strings.Contains(err.Error(), dir) {
			t.Errorf("error does not name what lies in %s: %v", dir, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has lines: %q", err)
	}
}
