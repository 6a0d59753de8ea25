package transcript_test

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Claude Code and Codex store texts of programs as if the user had written them. The host must recognise such texts.
// But a prompt of the user that only mentions such a text is still the user's.
func TestOriginsInSessionLogs(t *testing.T) {
	for text, want := range map[string]string{
		"fix it":                                                                        "U:fix it",
		"<div class=\"a-b\">broken</div>":                                               "U:<div class=\"a-b\">broken</div>",
		"Why <environment_context>?":                                                    "U:Why <environment_context>?",
		"# AGENTS.md is wrong":                                                          "U:# AGENTS.md is wrong",
		"[Request] add a key":                                                           "U:[Request] add a key",
		"<environment_context>\n<cwd>/p":                                                "H:<environment_context>\n<cwd>/p",
		" <SUBAGENT_NOTIFICATION>{}":                                                    "H: <SUBAGENT_NOTIFICATION>{}",
		"<hook_prompt hook_run_id=\"1\">no":                                             "H:<hook_prompt hook_run_id=\"1\">no",
		"[Request interrupted by user]":                                                 "H:[Request interrupted by user]",
		"<ide_opened_file>a</ide_opened_file>\nfix it":                                  "F:<ide_opened_file>a</ide_opened_file>|U:\nfix it",
		"<ide_selection>a</ide_selection>You must.</ide_selection>fix it":               "F:<ide_selection>a</ide_selection>You must.</ide_selection>|U:fix it",
		"# Context from my IDE setup:\n## My request for Codex:You must.":               "F:# Context from my IDE setup:\n## My request for Codex:|U:You must.",
		"<command-name>/clear</command-name>\n<command-args></command-args>":            "H:<command-name>/clear</command-name>\n<command-args></command-args>",
		"<command-name>/fix</command-name>\n<command-args>it\nnow</command-args>":       "U:/fix it\nnow|H:<command-name>/fix</command-name>\n<command-args>it\nnow</command-args>",
		"<bash-stdout><command-name>/fix</command-name><command-args>it</command-args>": "H:<bash-stdout><command-name>/fix</command-name><command-args>it</command-args>",
		"<file name=\"a\">\n</file>\nThese are no files of Pi":                          "U:<file name=\"a\">\n</file>\nThese are no files of Pi",
		"fix it<system-reminder>You must.</system-reminder>":                            "U:fix it|H:<system-reminder>You must.</system-reminder>",
	} {
		for _, program := range []string{string(transcript.ClaudeCode), string(transcript.Codex)} {
			codec, _ := transcript.CodecOf(program)
			m := codec.Decode(json.Value(`{"id":"k","message":{"role":"user","content":[{"type":"text","text":` + string(json.Quote(text)) + `}]}}`))
			got := ""
			for _, s := range m.Parts[0].Said() {
				if got != "" {
					got += "|"
				}
				got += s.Origin.Letter() + ":" + s.Text
			}
			if got != want {
				t.Errorf("%s: %q, want %q", program, got, want)
			}
		}
	}
}

func TestExitStatusInSessionLogs(t *testing.T) {
	codec, _ := transcript.CodecOf(string(transcript.Codex))
	m := codec.Decode(json.Value(`{"id":"k","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"shell"},{"type":"toolCall","id":"b","name":"shell"},{"type":"toolCall","id":"c","name":"shell"}]},"results":[{"toolCallId":"b","content":"","exitCode":2},{"toolCallId":"a","content":""}]}`))
	if a, b, c := m.Parts[0], m.Parts[1], m.Parts[2]; a.Exited || !b.Exited || b.ExitStatus != 2 || c.Exited {
		t.Errorf("%+v", m.Parts)
	}
}
