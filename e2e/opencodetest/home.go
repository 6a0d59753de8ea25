package opencodetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Home contains all directories in which OpenCode stores files of a user.
type Home struct {
	Root    string
	Config  string // XDG_CONFIG_HOME
	Data    string // XDG_DATA_HOME
	Cache   string // XDG_CACHE_HOME
	State   string // XDG_STATE_HOME
	Runtime string // XDG_RUNTIME_DIR, 0700
	Temp    string
}

// NewHome creates the directories below root. root must be short: sockets are created below it, and on some systems
// the path of a Unix socket is limited to 104 bytes.
func NewHome(root string) (*Home, error) {
	h := &Home{
		Root: root, Config: filepath.Join(root, "config"), Data: filepath.Join(root, "data"), Cache: filepath.Join(root, "cache"),
		State: filepath.Join(root, "state"), Runtime: filepath.Join(root, "run"), Temp: filepath.Join(root, "tmp"),
	}
	for _, dir := range []string{h.configDir(), h.Data, h.Cache, h.State, h.Runtime, h.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make home: %w", err)
		}
	}
	if err := SkipDependencyInstall(h.configDir()); err != nil {
		return nil, fmt.Errorf("make home: %w", err)
	}
	return h, nil
}

func (h *Home) LogDir() string { return filepath.Join(h.Data, "opencode", "log") }

func (h *Home) configDir() string { return filepath.Join(h.Config, "opencode") }

// SkipDependencyInstall keeps OpenCode from installing its plugin SDK with npm into dir. OpenCode does this for every
// config directory, including a project's .opencode, before it loads plugins. The installation takes three times as
// long as OpenCode's start, and more than a minute if no registry answers. If dir has a node_modules and a lock file
// with the dependency, OpenCode skips the installation.
func SkipDependencyInstall(dir string) error {
	type deps map[string]any
	wanted := deps{"dependencies": deps{"@opencode-ai/plugin": "*"}}
	files := map[string]any{
		"package.json":      wanted,
		"package-lock.json": deps{"lockfileVersion": 3, "requires": true, "packages": deps{"": wanted}},
	}
	if err := os.MkdirAll(filepath.Join(dir, "node_modules"), 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := writeJSON(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

func (h *Home) writeConfig(config map[string]any) error {
	return writeJSON(filepath.Join(h.configDir(), "opencode.json"), config)
}

// OpenCode does not get the developer's environment variables with these prefixes, because they may contain the
// developer's settings or the key of a real provider.
var foreignPrefixes = []string{
	"OPENCODE", "XDG_", "ANTHROPIC_", "OPENAI_", "GOOGLE_", "AWS_", "AZURE_", "GITHUB_", "BUN_", "PI_", "AI_AGENT", "MAGIC", "HOME=", "PWD=", "TMPDIR=",
}

// The entries of extra ("KEY=value") override others.
func (h *Home) Env(dir string, extra ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return slices.ContainsFunc(foreignPrefixes, func(p string) bool { return strings.HasPrefix(entry, p) })
	})
	env = append(env,
		"HOME="+h.Root, "PWD="+dir, "TMPDIR="+h.Temp,
		"XDG_CONFIG_HOME="+h.Config, "XDG_DATA_HOME="+h.Data, "XDG_CACHE_HOME="+h.Cache,
		"XDG_STATE_HOME="+h.State, "XDG_RUNTIME_DIR="+h.Runtime,
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_SHARE=1",
		"npm_config_fetch_retries=0",
	)
	return append(env, extra...)
}

func writeJSON(path string, v any) error {
	raw, err := json.MarshalIndent(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return os.WriteFile(path, raw, 0o600)
}
