package program

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestNameOf(t *testing.T) {
	dir := t.TempDir()
	ours, other := filepath.Join(dir, "my bin", "magicctx-host"), filepath.Join(dir, "other")
	for _, path := range []string{ours, other} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct{ onPath, path, want string }{
		"it comes first on the PATH":           {ours, ours, "magicctx-host"},
		"another program comes first":          {ours, other, Quote(other)},
		"none is on the PATH, needs no quotes": {"", "/opt/magicctx-host", "/opt/magicctx-host"},
		"none is on the PATH, needs quotes":    {"", "/my bin/magicctx-host", `'/my bin/magicctx-host'`},
	} {
		lookPath := func(string) (string, error) {
			if test.onPath == "" {
				return "", errors.New("not found")
			}
			return test.onPath, nil
		}
		if got := NameOf(test.path, lookPath); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestHashIsThatOfTheRunningProgram(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(content); Hash() != hex.EncodeToString(sum[:]) {
		t.Errorf("the hash is %q", Hash())
	}
}
