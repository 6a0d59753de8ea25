package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

func ExampleLoad() {
	home, err := os.MkdirTemp("", "magicctx")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	dir := filepath.Join(home, ".config", "magicctx")
	file := filepath.Join(dir, "magicctx.jsonc")
	content := `{ "protected_tags": 30, "low_mark_percentage": 130 }`
	if err := os.MkdirAll(dir, 0o700); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	cfg, warnings := config.Load(config.Options{
		Harness: schema.HarnessOpenCode,
		Env:     func(name string) string { return map[string]string{"HOME": home}[name] },
	})
	fmt.Println(cfg.ProtectedTags, cfg.LowMarkPercentage)
	for _, w := range warnings {
		fmt.Println(w.Key, "is", w.Value, "but", w.Allowed, "is allowed")
	}
	// Output:
	// 30 0
	// low_mark_percentage is 130 but a number from 0 to 75 is allowed
}
