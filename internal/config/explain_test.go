package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

func TestExplainNamesValueAndPlace(t *testing.T) {
	root := t.TempDir()
	user, project := filepath.Join(root, ".config", "magicctx", "magicctx.jsonc"), filepath.Join(root, "project", "magicctx.jsonc")
	for file, content := range map[string]string{
		user: `{
			"enabled": true, "execute_threshold_percentage": 50, // a comment
			"trusted_projects": ["{env:TOOL}"],
			"embedding": {"provider": "openai-compatible", "endpoint": "http://me:abcdef@localhost:1/v1?token=abcdef", "model": "m", "api_key": "abcdef"}
		}`,
		project: "{\"enabled\": false,\n\"history_budget_percentage\": \"many\"}",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, warnings := Explain(Options{Harness: schema.HarnessPi, Directory: filepath.Dir(project), Env: func(name string) string {
		return map[string]string{"HOME": root, "TOOL": "hidden"}[name]
	}})
	got := map[string]Setting{}
	for _, s := range all {
		got[s.Key] = s
		if strings.Contains(s.Value, "abcdef") || strings.Contains(s.Value, "hidden") {
			t.Errorf("%s shows a secret: %s", s.Key, s.Value)
		}
	}
	for _, want := range []Setting{
		{Key: "enabled", Value: "false", Place: project + ":1"},
		{Key: "execute_threshold_percentage", Value: `{"default":50}`, Place: user + ":2"},
		{Key: "embedding.api_key", Value: "a text of 6 characters", Place: user + ":4"},
		{Key: "embedding.endpoint", Value: "a text of 44 characters", Place: user + ":4"},
		{Key: "embedding.model", Value: `"m"`, Place: user + ":4"},
		{Key: "ctx_reduce_enabled", Value: "true", Place: ""},
		{Key: "trusted_projects", Value: "a value from the environment or another file", Place: user + ":3"},
	} {
		if s := got[want.Key]; s.Value != want.Value || s.Place != want.Place {
			t.Errorf("got %+v, want %+v", s, want)
		}
	}
	if len(warnings) != 1 || warnings[0].Key != "history_budget_percentage" {
		t.Errorf("warnings are %v", warnings)
	}
	if s := got["history_budget_percentage"]; s.Value != "15" || s.Place != "" {
		t.Errorf("an ignored value is at %+v", s)
	}
}
