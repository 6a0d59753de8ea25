package pipeline

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// idempotent are the tools whose answer to the same arguments is the current
// one, so that an older answer can go (spec dcp-and-crucible A10 P2, transform
// §15.2). A shell is not among them: the same command may show two states that
// the model compares.
var idempotent = map[string]bool{
	"read": true, "grep": true, "glob": true, "list": true, "webfetch": true, "ast_grep_search": true,
	"lsp_diagnostics": true, "lsp_symbols": true, "lsp_find_references": true, "lsp_goto_definition": true, "lsp_prepare_rename": true,
}

// fileTools are the tools that read or write the file their arguments name; the
// value says whether the call carries what the file then holds.
var fileTools = map[string]bool{"read": false, "edit": false, "multiedit": false, "write": true}

// factsOf reads what rules need to know of a unit's content.
func factsOf(role transcript.Role, p *transcript.Part) rule.Facts {
	switch p.Kind {
	case transcript.Text:
		f := rule.Facts{Notice: role == transcript.Assistant && text.IsInjectedOnly(render.StripTags(p.Text))}
		if text.HasInjection(p.Text) {
			f.Injected = true
			f.InjectedOnly = strings.TrimSpace(render.StripTags(text.StripInjections(p.Text))) == ""
		}
		return f
	case transcript.File:
		return rule.Facts{Image: text.IsProcessableImage(p.Mime, p.URL)}
	case transcript.Tool:
		return callFacts(p)
	}
	return rule.Facts{}
}

func callFacts(p *transcript.Part) rule.Facts {
	name := strings.TrimPrefix(strings.ToLower(p.Name), "mcp_")
	f := rule.Facts{Open: !p.HasResult(), Failed: p.IsError, LongInput: render.ClampLong(p.Input) != nil}
	if idempotent[name] {
		f.Call = callIdentity(name, p.Input)
	}
	if writes, ok := fileTools[name]; ok {
		f.Path, f.Writes = pathOf(p.Input), writes
	}
	return f
}

// callIdentity is equal for the same tool with the same arguments, whatever
// their order; arguments that are null count as absent. Zero is no call's.
func callIdentity(tool string, input json.Value) uint64 {
	var args map[string]any
	if json.Unmarshal(input, &args) != nil {
		return 0
	}
	for name, v := range args {
		if v == nil {
			delete(args, name)
		}
	}
	canonical, err := json.Marshal(args) // sorts names at every level
	if err != nil {
		return 0
	}
	sum := sha256.Sum256(append([]byte(tool+"\x00"), canonical...))
	return binary.LittleEndian.Uint64(sum[:])
}

func pathOf(input json.Value) string {
	var args struct {
		FilePath string `json:"filePath"`
		Snake    string `json:"file_path"`
		Path     string `json:"path"`
	}
	if json.Unmarshal(input, &args) != nil {
		return ""
	}
	for _, p := range []string{args.FilePath, args.Snake, args.Path} {
		if p != "" {
			return p
		}
	}
	return ""
}

// A look is what was read off a message when it came in, because opening it
// again costs more than remembering.
type look struct {
	// facts belong to the parts, in their order.
	facts []rule.Facts
	// plain and signed say that there is reasoning of that kind, aloud that a
	// text has thinking in it, solid that there is a part which is no unit.
	plain, signed, aloud, solid bool
	// thought is the bytes of the reasoning.
	thought int
	// todo is the arguments of the last call that wrote a todo list.
	todo json.Value
}

func lookAt(m *transcript.Message) look {
	l := look{facts: make([]rule.Facts, len(m.Parts))}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Hidden {
			continue
		}
		l.facts[i] = factsOf(m.Role, p)
		switch p.Kind {
		case transcript.Text:
			l.aloud = l.aloud || m.Role == transcript.Assistant && thinksAloud(p.Text)
		case transcript.Reasoning:
			l.plain, l.signed = l.plain || p.Signature == nil, l.signed || p.Signature != nil
			l.thought += len(p.Text)
		case transcript.Tool:
			if p.Name == todoTool && p.HasResult() && !p.IsError {
				l.todo = p.Input
			}
		case transcript.Other:
			l.solid = true
		}
	}
	return l
}

// thinksAloud reports whether a model without reasoning thought in its text.
func thinksAloud(s string) bool {
	rest := text.StripInlineThinking(s)
	return rest != s && strings.TrimSpace(rest) != ""
}

// leavesOut reports whether the provider lets the message's reasoning be left
// out, and keeps whether some of it has to stay.
func (l *look) leavesOut(p render.Profile) (leaves, keeps bool) {
	free := p.ForgetsReasoning
	leaves = free && (l.plain || l.signed && !p.ChecksSignatures)
	keeps = l.plain && !free || l.signed && (!free || p.ChecksSignatures)
	return leaves, keeps
}
