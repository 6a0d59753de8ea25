package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Who uses Pi only has no file for OpenCode.
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
