package rawhistory_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/internal/rawhistory/rawhistorytest"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A golden file contains the messages that the reader must find in a log of testdata. The logs also have lines that the
// harness never writes. Every text that must not be shown as the user's words mentions a giraffe, so the test fails if
// a line of the user contains this word.
func TestSessionLogsReadAsTheirGoldenFiles(t *testing.T) {
	for _, c := range []struct {
		harness      schema.Harness
		id, log, dir string
	}{
		{transcript.ClaudeCode, "5e55", "claude-code", ".claude/projects/-p/%.jsonl"},
		{transcript.ClaudeCode, "5e55", "claude-code", ".config/claude/projects/-p/%.jsonl"},
		{transcript.Codex, "c0de", "codex", ".codex/sessions/2026/11/20/rollout-2026-11-20T11-18-00-%.jsonl"},
		{transcript.Codex, "01d", "codex-2025", ".codex/archived_sessions/rollout-2025-08-08T10-39-10-%.jsonl"},
	} {
		home := t.TempDir()
		log, err := os.ReadFile("testdata/" + c.log + ".jsonl")
		must(t, err)
		rawhistorytest.WriteLog(t, home, strings.ReplaceAll(c.dir, "%", c.id), string(log))
		s := rawhistory.Session{Harness: c.harness, ID: c.id}
		all, extent := read(t, at(home), s, 1, 999)
		var got strings.Builder
		for _, m := range all {
			text := rawhistory.Text(m, rawhistory.TextOptions{Thinking: true})
			got.WriteString(text)
			for line := range strings.Lines(text) {
				if strings.Contains(line, " U: ") && strings.Contains(line, "giraffe") {
					t.Errorf("%s: not typed by the user: %s", c.log, line)
				}
			}
		}
		golden := "testdata/" + c.log + ".txt"
		if *update {
			must(t, os.WriteFile(golden, []byte(got.String()), 0o600))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.log, diff)
		}
		if extent.Last != len(all) || !strings.HasPrefix(extent.Path, home) {
			t.Errorf("%s: %+v", c.log, extent)
		}
		sources, err := at(home).List(t.Context(), func(path string, err error) { t.Error(path, err) })
		must(t, err)
		if len(sources) != 1 || len(sources[0].Sessions) != 1 || sources[0].Sessions[0].ID != c.id || sources[0].Sessions[0].Directory != "/p" || sources[0].Path != extent.Path {
			t.Errorf("%s: %+v", c.log, sources)
		}
	}
}

// The list of session logs leaves out files without a session, and logs of subagents. It reports files that are not
// logs.
func TestOtherFilesBesideSessionLogs(t *testing.T) {
	home := t.TempDir()
	for _, f := range []struct{ path, content, problem string }{
		{".claude/projects/-p/1.jsonl", `{"type":"summary","summary":"s","leafUuid":"l"}` + "\n", ""},
		{".claude/projects/-p/agent-2.jsonl", `{"type":"user","cwd":"/p","isSidechain":true,"uuid":"u"}` + "\n", ""},
		{".claude/projects/-p/3.jsonl", "", ""},
		{".claude/projects/-p/4.jsonl", `{"type":"user","cwd":"/p","is`, "no whole line"},
		{".claude/projects/-p/5.jsonl", "\x7fELF\x00\n", "line 1: the file is not a session log of Claude Code"},
		{".claude/projects/-p/6.txt", "", ""},
		{".codex/sessions/2026/11/20/rollout-1-a.jsonl", `{"type":"session_meta","payload":{"id":"a","cwd":"/p","source":{"subagent":"review"}}}` + "\n", ""},
		{".codex/sessions/2026/11/20/rollout-2-b.jsonl", `{"type":"session_meta","payload":{"id":"other","cwd":"/p"}}` + "\n", "line 1: the file is not a session log of Codex"},
		{".codex/sessions/2026/11/20/rollout-3-c.jsonl", `{"type":"event_msg","payload":{"id":"c","cwd":"/p"}}` + "\n", "line 1: the file is not a session log of Codex"},
		{".codex/sessions/2026/11/20/rollout-4-d.jsonl", `{"type":"session_meta","payload":{"id":"d"}}` + "\n" + `{"type":"turn_context","payload":{"cwd":"/q"}}` + "\n", ""},
	} {
		rawhistorytest.WriteLog(t, home, f.path, f.content)
		problem := ""
		sources, err := at(home).List(t.Context(), func(path string, err error) { problem += path + ": " + err.Error() })
		must(t, err)
		if hasOne := strings.HasSuffix(f.path, "-d.jsonl"); len(sources) == 1 != hasOne || hasOne && sources[0].Sessions[0].Directory != "/q" {
			t.Errorf("%s: %+v", f.path, sources)
		}
		if (f.problem == "") != (problem == "") || !strings.Contains(problem, f.problem) || f.problem != "" && !strings.Contains(problem, filepath.Base(f.path)) {
			t.Errorf("%s: %s", f.path, problem)
		}
		must(t, os.Remove(filepath.Join(home, f.path)))
	}
}

func TestSessionLogIsFoundByItsVariable(t *testing.T) {
	home := t.TempDir()
	rawhistorytest.WriteLog(t, home, "c/projects/-p/s.jsonl", `{"type":"user","uuid":"u","cwd":"/p","message":{"content":"hi"}}`+"\n")
	s := rawhistory.Session{Harness: transcript.ClaudeCode, ID: "s"}
	if all, _ := read(t, at(home, "CLAUDE_CONFIG_DIR="+filepath.Join(home, "c")), s, 1, 9); keys(all) != "1=u" {
		t.Error(keys(all))
	}
	for _, id := range []string{"s", "../s", "*", "["} {
		s.ID = id
		if _, err := at(home).Read(t.Context(), s, 1, 9, nil); !errors.Is(err, rawhistory.ErrUnknownSession) {
			t.Errorf("%s: %v", id, err)
		}
	}
}
