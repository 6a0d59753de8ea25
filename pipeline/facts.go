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

func factsOf(v *transcript.Vocabulary, role transcript.Role, p *transcript.Part) rule.Facts {
	switch p.Kind {
	case transcript.Text:
		f := rule.Facts{Notice: role == transcript.Assistant && text.IsInjectedOnly(p.Text)}
		if text.HasInjection(p.Text) {
			f.Injected = true
			f.InjectedOnly = strings.TrimSpace(text.StripInjections(p.Text)) == ""
		}
		f.Typed = p.Origin == transcript.FromUser && !p.Hidden && !f.InjectedOnly && strings.TrimSpace(p.Text) != ""
		return f
	case transcript.File:
		return rule.Facts{Image: text.IsProcessableImage(p.Mime, p.URL), Typed: role == transcript.User && !p.Hidden}
	case transcript.Tool:
		return callFacts(v, p)
	}
	return rule.Facts{}
}

func callFacts(v *transcript.Vocabulary, p *transcript.Part) rule.Facts {
	tool := v.Tool(p.Name)
	f := rule.Facts{Open: !p.HasResult(), Failed: p.IsError, LongInput: render.ClampLong(p.Input) != nil, Tier: tool.Tier}
	if tool.Idempotent || tool.Shows {
		f.Again = callIdentity(transcript.ToolName(p.Name), p.Input)
	}
	if tool.Idempotent {
		f.Call = f.Again
	}
	if tool.File != transcript.NoFile {
		f.Path, f.Writes, f.Changes = pathOf(p.Input), tool.File == transcript.WritesFile, !tool.Idempotent
	}
	return f
}

// callIdentity identifies a call by its tool and its arguments. The order of the arguments does not matter, and a null
// argument counts as absent.
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

// traits are the properties of a message. The session keeps them, so that later passes do not have to decode the
// message again.
type traits struct {
	// facts has one element per part, in the order of the parts.
	facts []rule.Facts
	// `plain` means that the message has reasoning without a signature, and `signed` that it has reasoning with a
	// signature. inlineThinking means that a text of the message contains thinking such as "<think>…</think>".
	// undroppable means that no edit can remove the whole message, because a visible part of it is not a unit.
	plain, signed, inlineThinking, undroppable bool
	// `thought` is the size of all reasoning in bytes. `thoughts` is the number of signed blocks of reasoning.
	thought, thoughts int
	// typed means that one of the parts is typed (rule.Facts).
	typed bool
	// `silent` means that no part of the message reaches the provider. `empty` means that the message is silent, but
	// that the harness may send an empty text in its place to some providers.
	silent, empty bool
	// todo holds the arguments of the last successful call that wrote a todo list.
	todo json.Value
}

func traitsOf(v *transcript.Vocabulary, m *transcript.Message) traits {
	t := traits{facts: make([]rule.Facts, len(m.Parts)), silent: true}
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Hidden {
			t.empty = t.empty || v.SendsEmptyText && m.Role == transcript.Assistant && p.Kind == transcript.Text && !m.Hidden
			continue
		}
		t.silent = m.Hidden
		t.facts[i] = factsOf(v, m.Role, p)
		t.typed = t.typed || t.facts[i].Typed && !m.Hidden
		switch p.Kind {
		case transcript.Text:
			t.inlineThinking = t.inlineThinking || m.Role == transcript.Assistant && hasInlineThinking(p.Text)
		case transcript.Reasoning:
			if m.Hidden {
				continue
			}
			t.plain, t.signed = t.plain || p.Signature == nil, t.signed || p.Signature != nil
			t.thought += len(p.Text)
			if p.Signature != nil {
				t.thoughts++
			}
		case transcript.Tool:
			if v.TodoTool != "" && p.Name == v.TodoTool && p.HasResult() && !p.IsError {
				t.todo = p.Input
			}
		case transcript.Other:
			t.undroppable = true
		}
	}
	t.empty = t.empty && t.silent
	return t
}

// hasInlineThinking reports whether a text contains thinking, such as "<think>…</think>", and also other words. Models
// without a separate channel for reasoning write their thinking into the text.
func hasInlineThinking(s string) bool {
	rest := text.StripInlineThinking(s)
	return rest != s && strings.TrimSpace(rest) != ""
}

// leavesOut returns two answers about the reasoning of the message. mayLeave: the host may leave out some of it.
// mustStay: the provider requires some of it.
func (t *traits) leavesOut(p render.Profile) (mayLeave, mustStay bool) {
	free := p.ForgetsReasoning
	mayLeave = free && (t.plain || t.signed && !p.ChecksSignatures)
	mustStay = t.plain && !free || t.signed && (!free || p.ChecksSignatures)
	return mayLeave, mustStay
}
