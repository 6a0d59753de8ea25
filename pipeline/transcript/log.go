package transcript

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// The index also contains sessions of Claude Code and Codex, although no shim runs in them. internal/rawhistory turns
// their session logs into steps of Pi.
const (
	ClaudeCode schema.Harness = "claude-code"
	Codex      schema.Harness = "codex"
)

// A logCodec reads steps that were made from a session log. It differs from the codec of Pi in three ways: it has
// another vocabulary, it separates the user's words in a prompt from text that a program has added, and it reads the
// exit status of a command from the result.
type logCodec struct {
	Pi
	vocabulary *Vocabulary
}

func (c logCodec) Vocabulary() *Vocabulary { return c.vocabulary }

// Unlike in Pi, the results of commands have an exit status.
func (c logCodec) Decode(raw json.Value) Message {
	m := c.Pi.Decode(raw)
	var step struct {
		Results []struct {
			ExitCode *int `json:"exitCode"`
		} `json:"results"`
	}
	_ = json.Unmarshal(raw, &step) // Pi's codec has read it
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Kind {
		case Text:
			if p.Origin == FromUser {
				p.Attached = 0
				readLogPrompt(p)
			}
		case Tool:
			n, err := strconv.Atoi(strings.TrimPrefix(p.ResultPath, "/results/"))
			if err == nil && n < len(step.Results) && step.Results[n].ExitCode != nil {
				p.Exited, p.ExitStatus = true, *step.Results[n].ExitCode
			}
		}
	}
	return m
}

var (
	// If the user types a command, Claude Code stores a text of this form.
	slashCommand = regexp.MustCompile(`(?s)^\s*(?:<command-message>.*?</command-message>\s*)?<command-name>(/?[^<\s]+)</command-name>.*<command-args>(.*)</command-args>\s*$`)
	// injectedPrompt matches the beginning of a text that a program has added to the user's prompt. Nearly all are
	// elements with a compound name, for example <environment_context>.
	injectedPrompt = regexp.MustCompile(`^\s*(?i:<[a-z]+[-_][a-z_-]+[\s>]|<skill>|<channel |Caveat: The messages below|\[Request interrupted by user|# AGENTS\.md instructions|Stop hook feedback:|Base directory for this skill:|This session is being continued from a previous)`)
)

// An editor may put context before the user's words, in the same text. These lines are the headings of the context, of
// the mentioned files, and of the user's words.
const (
	codexContext  = "# Context from my IDE setup:"
	codexMentions = "# Files mentioned by the user:"
	codexRequest  = "## My request for Codex:"
)

// readLogPrompt finds the user's words in a prompt. An editor may put context before them, with the content of files. A
// file may contain the marker that ends the context, so the words begin after the last marker.
func readLogPrompt(p *Part) {
	if m := slashCommand.FindStringSubmatch(p.Text); m != nil && strings.TrimSpace(m[2]) != "" {
		p.Typed = m[1] + " " + strings.TrimSpace(m[2])
		return
	}
	begin := strings.TrimSpace(p.Text)
	switch {
	case strings.HasPrefix(begin, "<ide_"):
		if i := strings.LastIndex(p.Text, "</ide_"); i >= 0 {
			p.Attached = i + strings.IndexByte(p.Text[i:], '>') + 1
		}
	case strings.HasPrefix(begin, codexContext), strings.HasPrefix(begin, codexMentions):
		if i := strings.LastIndex(p.Text, codexRequest); i >= 0 {
			p.Attached = i + len(codexRequest)
		}
	}
	if p.Attached == 0 && injectedPrompt.MatchString(p.Text) {
		p.Origin = FromHarness
	}
}

var claudeCodeVocabulary = Vocabulary{
	Tools: withPluginTools(map[string]ToolClass{
		"read":         {Idempotent: true, File: UsesFile},
		"edit":         {File: UsesFile},
		"multiedit":    {File: UsesFile},
		"notebookedit": {File: UsesFile},
		"write":        {File: WritesFile},
	}),
}

var codexVocabulary = Vocabulary{
	Tools: withPluginTools(map[string]ToolClass{
		"apply_patch": {File: UsesFile},
	}),
}
