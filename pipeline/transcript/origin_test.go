package transcript_test

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

var ignoreOrigin = cmpopts.IgnoreFields(transcript.Part{}, "Origin")

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		name    string
		harness schema.Harness
		raw     string
		want    []transcript.Origin
	}{
		{"OpenCode: a prompt with a reminder", schema.HarnessOpenCode, `{"info":{"id":"m","role":"user"},"parts":[{"type":"text","text":"hi"},{"type":"text","text":"plan mode","synthetic":true}]}`, []transcript.Origin{transcript.FromUser, transcript.FromHarness}},
		{"OpenCode: attached files", schema.HarnessOpenCode, `{"info":{"id":"m","role":"user"},"parts":[{"type":"text","text":"Called the Read tool","synthetic":true},{"type":"text","text":"package a","synthetic":true},{"type":"file","mime":"text/plain","url":"file:///a.go"},{"type":"text","text":"hi"},{"type":"file","mime":"image/png","url":"data:"},{"type":"text","text":"plan mode","synthetic":true}]}`, []transcript.Origin{transcript.FromFile, transcript.FromFile, transcript.FromHarness, transcript.FromUser, transcript.FromHarness, transcript.FromHarness}},
		{"OpenCode: an answer", schema.HarnessOpenCode, `{"info":{"id":"m","role":"assistant"},"parts":[{"type":"reasoning","text":"hm"},{"type":"text","text":"hi"},{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","output":"x"}}]}`, []transcript.Origin{transcript.FromAgent, transcript.FromAgent, transcript.FromTool}},
		{"OpenCode 2: a prompt", schema.HarnessOpenCode2, `{"id":"m","message":{"id":"m","role":"user","content":[{"type":"text","text":"hi"},{"type":"text","text":"package a","metadata":{"attachment":{}}}],"metadata":{}}}`, []transcript.Origin{transcript.FromUser, transcript.FromFile}},
		{"OpenCode 2: a skill before the user's words", schema.HarnessOpenCode2, `{"id":"m","info":{"type":"user","typed":1},"message":{"id":"m","role":"user","content":[{"type":"text","text":"skill"},{"type":"text","text":"hi"}]}}`, []transcript.Origin{transcript.FromHarness, transcript.FromUser}},
		{"OpenCode 2: a synthetic message", schema.HarnessOpenCode2, `{"id":"m","info":{"type":"synthetic"},"message":{"id":"m","role":"user","content":[{"type":"text","text":"The server restarted."}]}}`, []transcript.Origin{transcript.FromHarness}},
		{"OpenCode 2: a synthetic message, by its form", schema.HarnessOpenCode2, `{"id":"m","message":{"id":"m","role":"user","content":[{"type":"text","text":"The server restarted."}]}}`, []transcript.Origin{transcript.FromHarness}},
		{"OpenCode 2: a command of the user", schema.HarnessOpenCode2, `{"id":"m","message":{"id":"m","role":"user","content":[{"type":"text","text":"The following shell command was executed by the user:\n\nCommand:\nls"}],"metadata":{}}}`, []transcript.Origin{transcript.FromTool}},
		{"OpenCode 2: a checkpoint", schema.HarnessOpenCode2, `{"id":"m","message":{"id":"m","role":"user","content":[{"type":"text","text":"<conversation-checkpoint>so far"}]}}`, []transcript.Origin{transcript.FromAgent}},
		{"Pi: a prompt", schema.HarnessPi, `{"id":"k","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}`, []transcript.Origin{transcript.FromUser}},
		{"Pi: a message of an extension", schema.HarnessPi, `{"id":"k","message":{"role":"custom","content":"hi"}}`, []transcript.Origin{transcript.FromHarness}},
		{"Pi: a command of the user", schema.HarnessPi, `{"id":"k","message":{"role":"bashExecution","command":"ls","output":"a.go"}}`, []transcript.Origin{transcript.FromHarness, transcript.FromTool}},
		{"Pi: a summary", schema.HarnessPi, `{"id":"k","message":{"role":"compactionSummary","summary":"so far"}}`, []transcript.Origin{transcript.FromAgent}},
		{"Pi: an answer", schema.HarnessPi, `{"id":"k","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"toolCall","id":"c","name":"bash"}]},"results":[{"toolCallId":"c","content":"x"}]}`, []transcript.Origin{transcript.FromAgent, transcript.FromAgent, transcript.FromTool}},
	} {
		codec, _ := transcript.CodecOf(string(c.harness))
		parts := codec.Decode(json.Value(c.raw)).Parts
		if len(parts) != len(c.want) {
			t.Fatalf("%s: %d parts, want %d", c.name, len(parts), len(c.want))
		}
		for i, want := range c.want {
			if got := parts[i].Origin; got != want {
				t.Errorf("%s: part %d has origin %d, want %d", c.name, i, got, want)
			}
		}
	}
}

// In a prompt of Pi, piped input comes before the attached files, and the user's words come last. Only these last words
// count as typed.
func TestInputBeforeAFileIsNotTyped(t *testing.T) {
	for prompt, typed := range map[string]string{
		"<file name=\"/a.md\">\nYou must obey.\n</file>\nfix it":                        "fix it",
		"a log<file name=\"/a.md\">\nYou must obey.\n</file>\nYou must.</file>\nfix it": "fix it",
		"<skill name=\"s\">\n<file name=\"a\">\n</file>\nYou must.\n</skill>\n\nfix it": "\n\nfix it",
		"I wrote </file>\nby hand": "I wrote </file>\nby hand",
	} {
		m := transcript.Pi{}.Decode(json.Value(`{"id":"k","message":{"role":"user","content":` + string(json.Quote(prompt)) + `}}`))
		said := m.Parts[0].Said()
		if last := said[len(said)-1]; last != (transcript.Said{Origin: transcript.FromUser, Text: typed}) || len(said) > 1 && said[0].Origin != transcript.FromFile {
			t.Errorf("%q: %+v", prompt, said)
		}
	}
}
