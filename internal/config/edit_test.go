package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/schema"
)

func settingsOf(t *testing.T, content string) (Options, string) {
	t.Helper()
	root := t.TempDir()
	file := filepath.Join(root, ".pi", "agent", "magicctx.jsonc")
	if content != "" {
		write(t, file, content)
	}
	return Options{Harness: schema.HarnessPi, Env: func(name string) string { return map[string]string{"HOME": root}[name] }}, file
}

func TestAnEditKeepsTheRestOfTheFile(t *testing.T) {
	const mine = "// mine\n{\n\t\"protected_tags\": 20, // few\n\t/* search */\n\t\"memory\": {\n\t\t\"auto_search\": {\n\t\t\t\"enabled\": true,\n\t\t},\n\t},\n\t// the end\n}\n"
	for _, c := range []struct{ before, key, value, after string }{
		{mine, "protected_tags", "30", strings.Replace(mine, "20", "30", 1)},
		{mine, "memory.auto_search.score_threshold", "0.7", strings.Replace(mine, "true,\n", "true,\n\t\t\t\"score_threshold\": 0.7,\n", 1)},
		{mine, "historian.two_pass", "true // better", strings.Replace(mine, "// the end\n", "// the end\n\t\"historian\": {\n\t\t\"two_pass\": true\n\t},\n", 1)},
		{mine, "protected_tags", "", strings.Replace(mine, "\"protected_tags\": 20, // few", "// few", 1)},
		{"", "protected_tags", "30", "{\n  \"protected_tags\": 30\n}\n"},
		{`{"enabled": true}`, "execute_threshold_percentage", `{"default": 50, "a/b": 60}`, `{"enabled": true, "execute_threshold_percentage": {"default": 50, "a/b": 60}}`},
		{`{"protected_tags": 3, "protected_tags": 4}`, "protected_tags", "", `{}`},
	} {
		o, file := settingsOf(t, c.before)
		value := &c.value
		if c.value == "" {
			value = nil
		}
		e, err := NewEdit(o, c.key, value)
		if err == nil {
			err = e.Write()
		}
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		got, err := os.ReadFile(file)
		if diff := cmp.Diff(c.after, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v %s", c.key, err, diff)
		}
	}
}

// Values that Load would ignore are refused, with the reason.
func TestAnEditRefusesWhatLoadWouldIgnore(t *testing.T) {
	const file = `{"execute_threshold_percentage": 60, "low_mark_percentage": 40, "zebra": 1, "historian": {"two_pass": "yes"}, "embedding": 3}`
	for _, c := range []struct{ key, value, want string }{
		{"protected_tags", "0", "protected_tags is 0, but takes a whole number from 1 to 100"},
		{"protected_tags", `"20"`, "but takes a whole number"},
		{"protected_tags", "null", "is null"},
		{"protected_tags", "1e999", "a whole number"},
		{"protected_tags", `30, "enabled": false`, "no JSON"},
		{"protected_tags", `30} {`, "no JSON"},
		{"protected_tags", "", "no JSON"},
		{"protected_tags", strings.Repeat("[", 1000), "nested too deeply"},
		{"spending", `"cheap"`, "one of frugal, balanced, generous"},
		{"execute_threshold_percentage", "30", "low_mark_percentage is 40"},
		{"execute_threshold_percentage", `{"defualt": 50}`, "did you mean default?"},
		{"execute_threshold_percentage", `{"default": 50, "default": 60}`, "stands here"},
		{"historian.model", `"claude"`, "the name of the provider comes first"},
		{"protectd_tags", "30", "did you mean protected_tags?"},
		{"memory", "{}", "memory holds other keys"},
		{"zebra\x1b[2J", "1", `"zebra\x1b[2J" is not a known key`},
		{"__proto__.enabled", "1", "not a known key"},
		{"embedding.model", `"m"`, `"embedding" is not an object`},
		{"embedding.api_key", `"{file:~/.ssh/id_rsa}"`, "not an object"},
		{"auto_drop.protected_tools", `["` + strings.Repeat("x", maxFileBytes) + `"]`, "too large"},
	} {
		o, path := settingsOf(t, file)
		if _, err := NewEdit(o, c.key, &c.value); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
			t.Errorf("%.60s = %.60s: %.300v, want %s", c.key, c.value, err, c.want)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != file {
			t.Errorf("%s has changed the file to %.200s (%v)", c.key, got, err)
		}
	}
	o, _ := settingsOf(t, file)
	if _, err := NewEdit(o, "protected_tags", nil); err == nil || !strings.Contains(err.Error(), "does not set") {
		t.Errorf("a key that is not there is removed: %v", err)
	}
	same := "60"
	if _, err := NewEdit(o, "execute_threshold_percentage", &same); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same value is an edit: %v", err)
	}
}

// The dreamer runs only if the user's file has a block "dreamer". So an edit that adds the first key of this block also
// switches the dreamer on, and must list this effect.
func TestAnEditNamesItsEffects(t *testing.T) {
	o, _ := settingsOf(t, "")
	value := "10"
	e, err := NewEdit(o, "dreamer.idle_minutes", &value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Effect{{"dreamer.disable", "true", "false"}, {"dreamer.idle_minutes", e.Effects[1].From, "10"}}, e.Effects); diff != "" {
		t.Error(diff)
	}
	// A key that the project's file sets keeps its value.
	o.Directory = t.TempDir()
	write(t, filepath.Join(o.Directory, "magicctx.jsonc"), `{"temporal_awareness": false}`)
	value = "false"
	if e, err = NewEdit(o, "temporal_awareness", &value); err != nil || len(e.Effects) != 0 {
		t.Errorf("the effects are %+v, %v", e, err)
	}
}

func TestAnEditShowsNoSecret(t *testing.T) {
	o, _ := settingsOf(t, "// \"api_key\": \"comment-7-abcdef\"\n// http://me:abcdef@localhost/ /* no more */\n{\n\"embedding\": {\"api_key\": \"abcdef\",\n\"endpoint\": \"http://me:abcdef@localhost/\", \"model\": \"m\"},\n\"pw\": \"abcdef\", \"auth\": {\"user\": \"abcdef\"}, \"bearer\": [\"abcdef\"]}")
	value := `"secret words"`
	e, err := NewEdit(o, "embedding.api_key", &value)
	if err != nil {
		t.Fatal(err)
	}
	before, after := e.Shown()
	for _, text := range []string{before, after} {
		if strings.Contains(text, "abcdef") || !strings.Contains(text, `"m"`) || strings.Contains(text, "secret words") || !strings.Contains(text, "characters") || !strings.Contains(text, "[redacted API key]") || !strings.Contains(text, "no more") {
			t.Errorf("it shows %s", text)
		}
	}
}

// If somebody has edited the file since NewEdit has read it, Write must fail and leave the file as it is. It must also
// leave the files of other programs alone.
func TestAnEditIsNotWrittenOverAnother(t *testing.T) {
	value := "30"
	for _, content := range []string{`{"enabled": true}`, ""} {
		o, file := settingsOf(t, content)
		e, err := NewEdit(o, "protected_tags", &value)
		if err != nil {
			t.Fatal(err)
		}
		version := e.Version()
		write(t, file, `{"enabled": false}`)
		if err := e.Write(); !errors.Is(err, ErrChanged) {
			t.Errorf("written over an edit: %v", err)
		}
		if e, err = NewEdit(o, "protected_tags", &value); err != nil || e.Version() == version {
			t.Errorf("the version is the same, or %v", err)
		}
	}
	o, file := settingsOf(t, `{"enabled": true}`)
	linked := filepath.Join(t.TempDir(), "settings.jsonc")
	if err := errors.Join(os.Rename(file, linked), os.Symlink(linked, file)); err != nil {
		t.Fatal(err)
	}
	e, err := NewEdit(o, "protected_tags", &value)
	if err == nil {
		err = e.Write()
	}
	if info, statErr := os.Lstat(file); err != nil || statErr != nil || info.Mode().IsRegular() {
		t.Errorf("the link is %v, %v, %v", info, statErr, err)
	}
	if err := errors.Join(os.Remove(file), os.WriteFile(filepath.Join(filepath.Dir(file), "magic-context.jsonc"), []byte(`{}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := NewEdit(o, "protected_tags", &value); err == nil || !strings.Contains(err.Error(), "belongs to another plugin") {
		t.Errorf("edits the file of another plugin: %v", err)
	}
}
