package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// A story is a txtar archive with files, for which Load must return the values in section "want". Each line of "want"
// is "path = JSON"; null means that the value is not set. Section "warnings" has the expected messages. If it is
// absent, Load must not warn. Sections "env" and "options" set the environment and the harness.
func TestStories(t *testing.T) {
	stories, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(stories) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			runStory(t, file)
		})
	}
}

func runStory(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	sections := map[string]string{}
	env := map[string]string{"HOME": filepath.Join(root, "home"), "XDG_CONFIG_HOME": filepath.Join(root, "config")}
	options := Options{Harness: schema.HarnessOpenCode, Directory: filepath.Join(root, "project")}
	for _, f := range archive.Files {
		sections[f.Name] = string(f.Data)
	}
	for _, line := range lines(sections["env"]) {
		name, value, _ := strings.Cut(line, "=")
		env[name] = value
	}
	for _, line := range lines(sections["options"]) {
		switch name, value, _ := strings.Cut(line, " = "); name {
		case "harness":
			options.Harness = schema.Harness(value)
		case "home-of-project":
			options.Directory = filepath.Join(root, "home", value, "project")
		}
	}
	for _, f := range archive.Files {
		if strings.Contains(f.Name, "/") {
			name := filepath.Join(root, f.Name)
			if rest, ok := strings.CutPrefix(f.Name, "project/"); ok {
				name = filepath.Join(options.Directory, rest)
			}
			write(t, name, string(f.Data))
		}
	}
	options.Env = func(name string) string { return env[name] }

	cfg, found := Load(options)
	for _, line := range lines(sections["want"]) {
		key, want, ok := strings.Cut(line, " = ")
		if !ok {
			t.Fatalf("bad line %q", line)
		}
		if got := setting(t, cfg, key); got != want {
			t.Errorf("%s = %s, want %s", key, got, want)
		}
	}
	var messages []string
	for _, w := range found {
		if w.File == "" || w.String() == "" {
			t.Errorf("warning without file or message: %+v", w)
		}
		message := strings.ReplaceAll(w.Message, root+string(filepath.Separator), "")
		messages = append(messages, strings.Replace(message, " has no effect", ": has no effect", 1))
	}
	if diff := cmp.Diff(lines(sections["warnings"]), messages); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func setting(t *testing.T, cfg schema.Config, key string) string {
	t.Helper()
	data, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var tree object
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	value, ok := lookup(tree, path(strings.Split(key, ".")))
	if empty := fmt.Sprint(value); !ok || empty == "map[]" || empty == "[]" {
		return "null"
	}
	return compact(value)
}

func TestWarningHasItsParts(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "magicctx.jsonc"), `{"history_budget_percentage": 500}`)
	_, got := Load(Options{Directory: dir, Env: noEnv})
	want := []Warning{{
		File: filepath.Join(dir, "magicctx.jsonc"), Line: 1, Key: "history_budget_percentage", Value: "500", Allowed: "a number from 5 to 50",
		Message: filepath.Join(dir, "magicctx.jsonc") + ":1: history_budget_percentage is 500, but takes a number from 5 to 50; using 15",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsStayOutOfWarnings(t *testing.T) {
	const secret = "k-0123456789"
	home := t.TempDir()
	file := filepath.Join(home, ".config", "magicctx", "magicctx.jsonc")
	for _, text := range []string{
		`{"embedding": {"max_input_tokens": "{env:SECRET}"}}`,
		`{"embedding": {"api_key": ["k-0123456789"]}}`,
		`{"embedding": {"provider": {"k-0123456789": 1}}}`,
		`{"embedding": {"apikey": "k-0123456789"}}`,
		`{"historian": {"tools": {"api_key": "k-0123456789"}}}`,
		`{"enabled": "{file:secret.txt}"}`,
		`{"enabled": "x{env:SECRET}y"}`,
	} {
		write(t, file, text)
		write(t, filepath.Join(filepath.Dir(file), "secret.txt"), secret)
		_, warnings := Load(Options{Harness: schema.HarnessPi, Env: func(name string) string {
			return map[string]string{"HOME": home, "SECRET": secret}[name]
		}})
		if len(warnings) == 0 {
			t.Errorf("%s: no warning", text)
		}
		if all := fmt.Sprintf("%+v", warnings); strings.Contains(all, secret) {
			t.Errorf("%s: %s", text, all)
		}
	}
}

func TestHostileFilesAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"large":        `{"enabled": "` + strings.Repeat("x", maxFileBytes) + `"}`,
		"deep":         strings.Repeat("[", 100_000),
		"unknown keys": "{" + strings.Repeat(`"`+strings.Repeat("k", 40)+`":1,`, 5000) + "}",
		"many bad":     `{"command": {}, "cache_ttl": {` + manyKeys(10_000) + `}}`,
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "magicctx.jsonc"), text)
		cfg, warnings := Load(Options{Directory: dir, Env: noEnv})
		if len(warnings) == 0 || len(warnings) > maxWarnings+1 {
			t.Errorf("%s: %d warnings", name, len(warnings))
		}
		if !cfg.Enabled {
			t.Errorf("%s: not the defaults", name)
		}
	}
}

func TestUserFileIsNotTheProjectsToo(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "opencode")
	write(t, filepath.Join(dir, "magicctx.jsonc"), `{"idle_exit_minutes": 100}`)
	cfg, warnings := Load(Options{Harness: schema.HarnessOpenCode, Directory: dir, Env: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}})
	if cfg.IdleExitMinutes != 100 || len(warnings) != 0 {
		t.Errorf("idle_exit_minutes = %d, warnings %v", cfg.IdleExitMinutes, warnings)
	}
}

func TestDefaultIsLoadWithoutFiles(t *testing.T) {
	cfg, warnings := Load(Options{Harness: schema.HarnessPi, Directory: t.TempDir(), Env: noEnv})
	if diff := cmp.Diff(Default(), cfg); diff != "" || len(warnings) != 0 {
		t.Error(diff, warnings)
	}
}

// Whatever the files contain, Load must return a complete configuration. If this configuration is written to a file and
// loaded again, there must be no warning.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"cache_ttl": {"a/b": "1h"}, "historian": {"fallback_models": "a/b"}, "x": 1}`), []byte(`{"embedding": {"endpoint": "http://a"}}`))
	f.Add([]byte(`{"experimental": {"user_memories": true}, "dreamer": null}`), []byte(`{"command": {"": {}}, "dreamer": {"tasks": ["maintain-docs", 1]}}`))
	f.Add([]byte("\xef\xbb\xbf{\"$schema\": \"\xff\", \"enabled\": 1e999}"), []byte("["))
	home, again := f.TempDir(), f.TempDir()
	user := filepath.Join(home, ".config", "magicctx", "magicctx.jsonc")
	project := filepath.Join(home, "project")
	f.Fuzz(func(t *testing.T, userText, projectText []byte) {
		write(t, user, string(userText))
		write(t, filepath.Join(project, "magicctx.jsonc"), string(projectText))
		cfg, _ := Load(Options{Harness: schema.HarnessOpenCode, Directory: project, Env: func(name string) string {
			return map[string]string{"HOME": home}[name]
		}})
		if cfg.ProtectedTags < 1 || cfg.TransformTimeoutMS < 100 || cfg.Embedding.Provider == "" {
			t.Fatalf("incomplete: %+v", cfg)
		}
		if percent, _ := Threshold(cfg, "a", "b", 200_000); percent <= 0 || percent > 80 {
			t.Fatalf("threshold %v", percent)
		}
		if ttl := CacheTTL(cfg, "a", "b"); ttl != nil && *ttl < 0 {
			t.Fatalf("ttl %v", *ttl)
		}
		reload(t, cfg, filepath.Join(again, ".config", "magicctx", "magicctx.jsonc"), again)
	})
}

func reload(t *testing.T, cfg schema.Config, file, home string) {
	data, err := json.Marshal(cfg)
	if err != nil {
		return // text that is not UTF-8 cannot be written as JSON
	}
	if token.Match(data) {
		return // the text comes from a project's file, where {env:NAME} and {file:PATH} are ordinary text
	}
	write(t, file, string(data))
	got, _ := Load(Options{Harness: schema.HarnessOpenCode, Env: func(name string) string {
		return map[string]string{"HOME": home}[name]
	}})
	if got.ProtectedTags != cfg.ProtectedTags || !cmp.Equal(got.CacheTTL, cfg.CacheTTL) || got.Dreamer.Disable != cfg.Dreamer.Disable ||
		!slices.Equal(got.Dreamer.Tasks, cfg.Dreamer.Tasks) || got.Embedding.Provider != cfg.Embedding.Provider {
		t.Fatalf("another configuration after writing it out:\n%s", cmp.Diff(cfg, got))
	}
}

func BenchmarkLoad(b *testing.B) {
	home := b.TempDir()
	file := filepath.Join(home, ".config", "magicctx", "magicctx.jsonc")
	write(b, file, `{"protected_tags": 30, "historian": {"model": "a/b"}, "dreamer": {}, "memory": {"auto_search": {"enabled": false}}}`)
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	for b.Loop() {
		Load(Options{Harness: schema.HarnessOpenCode, Env: env})
	}
}

func noEnv(string) string { return "" }

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":1,`, i)
	}
	return b.String()
}

func lines(section string) []string {
	section = strings.TrimRight(section, "\n")
	if section == "" {
		return nil
	}
	return strings.Split(section, "\n")
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
