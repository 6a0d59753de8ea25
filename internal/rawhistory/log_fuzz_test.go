package rawhistory

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

func FuzzClaudeCodeLog(f *testing.F) { fuzzLog(f, transcript.ClaudeCode, "claude-code") }

func FuzzCodexLog(f *testing.F) { fuzzLog(f, transcript.Codex, "codex", "codex-2025") }

// The reader must not panic, and must return each ordinal once and in order.
func fuzzLog(f *testing.F, harness schema.Harness, names ...string) {
	for _, name := range names {
		log, err := os.ReadFile("testdata/" + name + ".jsonl")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log)
		for line := range bytes.Lines(log) {
			f.Add(line)
		}
		f.Add(bytes.ReplaceAll(log, []byte(`"parentUuid":"`), []byte(`"parentUuid":"x`)))
		f.Add(bytes.ReplaceAll(log, []byte(`"message":`), []byte(`"message":null,"x":`)))
		f.Add(bytes.ReplaceAll(log, []byte(`"content":`), []byte(`"content":{},"x":`)))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		last := 0
		_, err := readLogFile(t.Context(), logFormats[harness], bytes.NewReader(log), int64(len(log)), Session{Harness: harness, ID: "s"}, 1, 1<<30, func(m Message) bool {
			if m.Ordinal != last+1 {
				t.Errorf("message %d follows %d", m.Ordinal, last)
			}
			last = m.Ordinal
			if text := Text(m, TextOptions{}); !strings.HasSuffix(text, "\n") {
				t.Errorf("message %d: %q", m.Ordinal, text)
			}
			return true
		})
		if err != nil {
			t.Errorf("broken lines are no error, but: %v", err)
		}
		for number, line := range bytes.Split(log, []byte("\n")) {
			logFormats[harness].head(number+1, line, &logHead{id: "rollout-s"})
		}
	})
}
