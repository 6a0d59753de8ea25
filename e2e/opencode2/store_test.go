package opencode2_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/stage"
	"github.com/magicctx/magicctx-host/internal/json"
)

// The session has every kind of message. ctx_expand must return the same page from the array in memory and, after a
// compaction, from OpenCode's database.
func TestStoreHoldsWhatTheArrayHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stage.WithoutHistorian)
	w.start()
	s := w.session(large)
	rule := func(text string) {
		check(t, os.WriteFile(filepath.Join(w.project, "AGENTS.md"), []byte(text+"\n"), 0o600))
	}
	rule("rule one")
	w.mock.Enqueue(
		calls(mockllm.Thinking("hm", "sig1"), mockllm.Text("I look."), read("c1", "a.txt"), mockllm.Tool("c2", "shell", map[string]any{"command": "echo hi; exit 3", "description": "x"}),
			mockllm.Tool("c3", "nosuch", map[string]any{}), read("c4", "missing.txt"), read("c5", "p.png")),
		mockllm.Say("Done."))
	file := func(name, mime string) map[string]any {
		return map[string]any{"uri": "file://" + filepath.Join(w.project, name), "name": name, "mime": mime}
	}
	check(t, s.Send(w.ctx, "look", map[string]any{"files": []any{file("a.txt", "text/plain"), map[string]any{"uri": "data:image/png;base64," + png, "name": "p.png", "mime": "image/png"}}}))
	check(t, s.Wait(w.ctx))
	rule("rule two")
	w.say(s, "second", mockllm.Say("Two."))
	check(t, s.Shell(w.ctx, "echo shelled"))
	check(t, s.Synthetic(w.ctx, "a reminder"))
	rule("rule three")
	w.say(s, "third", mockllm.Fail(400, "invalid_request_error", "no"))
	w.say(s, "fourth", mockllm.Say("Four."))

	page := func() string {
		w.say(s, "expand", calls(mockllm.Text("I expand."), mockllm.Tool("x", "ctx_expand", map[string]any{"start": 1, "end": 10})), mockllm.Say("Seen."))
		_, record, ok := strings.Cut(text(w.newest(s))[strings.LastIndex(text(w.newest(s)), "A record of earlier"):], "\n")
		if !ok {
			t.Fatalf("no record in\n%s", text(w.newest(s)))
		}
		return record
	}
	inMemory := page()
	w.mock.Enqueue(mockllm.Say("## Objective\n- to test"))
	check(t, s.Compact(w.ctx))
	check(t, s.Wait(w.ctx))
	w.say(s, "after the compaction", mockllm.Say("Yes."))
	if inStore := page(); inStore != inMemory || !strings.Contains(inStore, "[1] U: look") || !strings.Contains(inStore, "a reminder") {
		t.Errorf("from the store:\n%s\nfrom the array:\n%s", inStore, inMemory)
	}
}

// The command `install` enters the plugin's directory, not a file, into OpenCode's configuration. The beta must load
// the plugin from this directory, as OpenCode 1 does.
func TestInstalledDirectoryIsLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, stage.WithoutHistorian)
	if out, err := w.user.Host(w.ctx, "install", "opencode", "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	raw, err := os.ReadFile(filepath.Join(w.user.Home.Config, "opencode", "opencode.json"))
	check(t, err)
	var config struct {
		Plugin []string `json:"plugin"`
	}
	check(t, json.Unmarshal(raw, &config))
	if len(config.Plugin) != 1 {
		t.Fatalf("the configuration lists %q", config.Plugin)
	}
	if info, err := os.Stat(config.Plugin[0]); err != nil || !info.IsDir() {
		t.Fatalf("%s is no directory: %v", config.Plugin[0], err)
	}
	w.options.Plugins = []any{config.Plugin[0]}
	w.start()
	s := w.session(large)
	w.say(s, "hello", mockllm.Say("Hi."))
	w.wants(w.newest(s), "§1§ hello")
}
