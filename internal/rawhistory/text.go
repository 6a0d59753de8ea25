package rawhistory

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

type TextOptions struct {
	// Outline cuts each text after 200 characters, and gives only the size of results.
	Outline bool
	// Thinking adds the model's thinking, if it is readable.
	Thinking bool
	// ForPeople names the authors in words, for example "user" instead of "U". It leaves out the tags that a model
	// has imitated at the start of a text.
	ForPeople bool
}

const outlined = 200

// Text returns a message as text. Unless Outline is set, the contents are verbatim. Each part begins with the message's
// ordinal. If the part is a text, the letter of its author follows. All other lines of a part are indented, so that no
// content looks like the beginning of a part. For example:
//
//	[12] U: Why does it fail?
//	[13] A: I look at the test.
//	[13] call bash {"command":"go test ./..."}
//	[13] result of bash:
//	    --- FAIL: TestX
//
// A model may read the result. So if the harness hides a text from the model, the result only says that there is such a
// text. The result ends with a line break.
func Text(m Message, o TextOptions) string { return strings.Join(Parts(m, o), "\n") + "\n" }

// Parts returns the parts of Text, each without its final line break. It always returns at least one part.
func Parts(m Message, o TextOptions) (parts []string) {
	line := func(format string, args ...any) {
		parts = append(parts, indent.Replace(fmt.Sprintf("[%d] "+format, append([]any{m.Ordinal}, args...)...)))
	}
	switch {
	case m.Decoded == nil:
		line("(this message cannot be read: the harness's store is damaged here)")
		return parts
	case m.Decoded.Hidden && m.Decoded.Role == transcript.Assistant:
		line("(a failed answer that the harness keeps from the model)")
		return parts
	case m.Decoded.Hidden:
		line("(a message that the user withheld from the model)")
		return parts
	}
	for i := range m.Decoded.Parts {
		switch p := &m.Decoded.Parts[i]; p.Kind {
		case transcript.Text:
			switch {
			case strings.TrimSpace(p.Text) == "":
			case p.Hidden:
				line("(a text that the user withheld from the model)")
			default:
				for _, s := range p.Said() {
					if strings.TrimSpace(s.Text) != "" {
						line("%s: %s", o.author(s.Origin), o.shorten(o.content(s)))
					}
				}
			}
		case transcript.Reasoning:
			if o.Thinking && strings.TrimSpace(p.Text) != "" {
				line("thinking: %s", o.shorten(p.Text))
			}
		case transcript.Tool:
			line("call %s %s", p.Name, o.shorten(string(p.Input)))
			o.result(p, line)
		case transcript.File:
			line("file %s", fileName(p))
		case transcript.Other:
			if len(p.Raw) > 0 {
				line("%s", o.shorten(string(p.Raw)))
			}
		}
	}
	if len(parts) == 0 {
		line("(nothing that can be shown as text)")
	}
	return parts
}

func (o TextOptions) author(of transcript.Origin) string {
	if !o.ForPeople {
		return of.Letter()
	}
	switch of {
	case transcript.FromUser:
		return "user"
	case transcript.FromAgent:
		return "agent"
	case transcript.FromTool:
		return "output"
	case transcript.FromFile:
		return "attached file"
	}
	return "harness"
}

func (o TextOptions) content(s transcript.Said) string {
	if !o.ForPeople || s.Origin != transcript.FromAgent {
		return s.Text
	}
	return render.CutImitations(s.Text, func(int) bool { return true })
}

// Indentation is at the start of each line of a part except the first.
const Indentation = "    "

// indent handles every character that a program may show as the end of a line.
var indent = strings.NewReplacer("\r\n", "\r\n"+Indentation, "\n", "\n"+Indentation, "\r", "\r"+Indentation, "\v", "\v"+Indentation, "\f", "\f"+Indentation,
	"\x1c", "\x1c"+Indentation, "\x1d", "\x1d"+Indentation, "\x1e", "\x1e"+Indentation, "\u0085", "\u0085"+Indentation, "\u2028", "\u2028"+Indentation, "\u2029", "\u2029"+Indentation)

func Indent(text string) string { return indent.Replace(text) }

func (o TextOptions) result(p *transcript.Part, line func(string, ...any)) {
	what, text := "result", p.Text
	if p.IsError {
		what = "error"
	}
	if p.Replaced {
		text = p.Original
	}
	switch {
	case !p.HasResult():
		line("no result of %s", p.Name)
	case p.Replaced && text == "":
		line("%s of %s: the harness no longer has it", what, p.Name)
	case o.Outline:
		line("%s of %s: %d characters", what, p.Name, utf8.RuneCountInString(text))
	default:
		line("%s of %s:\n%s", what, p.Name, text)
	}
	if len(p.Attachments) > 0 {
		line("%s of %s has attachments that are no text", what, p.Name)
	}
}

func (o TextOptions) shorten(text string) string {
	if !o.Outline {
		return text
	}
	runes := []rune(text)
	if len(runes) <= outlined {
		return text
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:outlined]), len(runes))
}

// fileName leaves out the content of a data URL, which may have megabytes of base64.
func fileName(p *transcript.Part) string {
	if strings.HasPrefix(p.URL, "data:") {
		return fmt.Sprintf("%s, %d bytes encoded", p.Mime, len(p.URL))
	}
	return strings.TrimSpace(p.Mime + " " + p.URL)
}
