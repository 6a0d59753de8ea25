package suite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Browser returns the programs that control a page in a browser. If they are missing, it skips the test.
func Browser(t *testing.T, repo string) (chromium, node string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Chromium")
	}
	chromium, err := findChromium()
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(repo, "node_modules", name)); err != nil {
			t.Skip(name + " is not installed, run npm ci in the repository")
		}
	}
	if node, err = exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	return chromium, node
}

func findChromium() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return exec.LookPath(path)
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium here: set CHROMIUM, or install the package chromium")
}
