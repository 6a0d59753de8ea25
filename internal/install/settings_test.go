package install

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/schema"
)

func (h *home) load() schema.Config {
	h.t.Helper()
	cfg, warnings := config.Load(config.Options{Harness: schema.HarnessOpenCode, Directory: h.Project, Env: h.Env})
	if len(warnings) > 0 {
		h.t.Fatal(warnings)
	}
	cfg.Schema = ""
	return cfg
}

// The defaults in the comments must be the real defaults.
func TestCreatedSettingsAreTheDefaults(t *testing.T) {
	h := newHome(t)
	plan := h.install()
	h.apply(plan)
	if diff := cmp.Diff(config.Default(), h.load()); diff != "" {
		t.Errorf("the created settings change the configuration:\n%s", diff)
	}

	content := string(plan.Settings.Content)
	uncommented := regexp.MustCompile(`(?m)^  // ( *("|//|}))`).ReplaceAllString(content, "  $1")
	h.write(plan.Settings.File, uncommented)
	want := config.Default()
	if diff := cmp.Diff(want, h.load()); diff != "" {
		t.Errorf("the defaults in the comments are wrong:\n%s\n%s", uncommented, diff)
	}
	for name, key := range map[string]string{"dreamer": `"schedule": "02:00-06:00"`, "sidekick": `"timeout_ms": 30000`} {
		block := regexp.MustCompile(`(?ms)^  // "` + name + `": \{$.*?^  // \},$`).FindString(uncommented)
		h.write(plan.Settings.File, strings.Replace(uncommented, block, regexp.MustCompile(`(?m)^  // `).ReplaceAllString(block, "  "), 1))
		want := config.Default()
		*map[string]*bool{"dreamer": &want.Dreamer.Disable, "sidekick": &want.Sidekick.Disable}[name] = false
		if diff := cmp.Diff(want, h.load()); diff != "" || !strings.Contains(block, key) {
			t.Errorf("the defaults of the %s are wrong:\n%s\n%s", name, block, diff)
		}
	}
	for _, key := range []string{`"protected_tags": 20`, `"skip_signatures": ["`} {
		if !strings.Contains(uncommented, key) {
			t.Errorf("%s is missing", key)
		}
	}

	// A key without a default has an example.
	for _, key := range []string{`// "model": "anthropic/claude-haiku-4-5"`, `// "fallback_models": ["anthropic/claude-haiku-4-5"]`} {
		if !strings.Contains(content, key) {
			t.Errorf("%s is missing:\n%s", key, content)
		}
	}

	// The created file must not offer keys that no code reads.
	for _, key := range []string{`"auto_update"`, `"sqlite"`, `"thinking_level"`} {
		if strings.Contains(content, key) {
			t.Errorf("%s has no effect, and is shown", key)
		}
	}

	schemaFile := filepath.Join(h.DataDir, "magicctx.schema.json")
	if !strings.Contains(content, fileURL(schemaFile)) {
		t.Error("the settings do not name their schema")
	}
	if embedded, err := schema.JSONSchema("config"); err != nil || h.read(schemaFile) != string(embedded) {
		t.Errorf("the schema is not the embedded one (%v)", err)
	}
}

func TestProjectSettingsHoldNoKeysOfTheUser(t *testing.T) {
	h := newHome(t)
	h.Project = filepath.Join(h.root, "p")
	plan := h.install()
	h.apply(plan)
	if want := filepath.Join(h.Project, "magicctx.jsonc"); plan.Settings.File != want {
		t.Errorf("created %s, want %s", plan.Settings.File, want)
	}
	for _, key := range []string{"auto_update", "sqlite", "cache_size_mb", "trusted_projects", "cache_ttl", "embedding", "transform_timeout_ms", `"model"`} {
		if strings.Contains(string(plan.Settings.Content), key) {
			t.Errorf("%s cannot be set by a project", key)
		}
	}
	h.load()
}
