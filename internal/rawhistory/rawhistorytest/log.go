package rawhistorytest

import (
	"os"
	"path/filepath"
	"testing"
)

func WriteLog(t testing.TB, home, path, content string) {
	t.Helper()
	path = filepath.Join(home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
