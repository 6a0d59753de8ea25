package rawhistory

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// TextOptions choose the content of a message's text.
type TextOptions struct {
	// Outline cuts each text after 200 characters, and gives only the size of results.
	Outline bool
	// Thinking adds the model's thinking, if it is readable.
	Thinking bool
}

// outlined is the number of characters that an outline keeps of a text.
const outlined = 200

// Text returns a message as text. Unless it is outlined, the text is verbatim. Each part begins with the
// ordinal, for example:
//
//	[12] U: Why does it fail?
//	[13] A: I look at the test.
//	[13] call bash {"command":"go test ./..."}
//	[13] result of bash:
//	--- FAIL: TestX
//
// The text ends with a line end.
func Text(m Message, o TextOptions) string { return strings.Join(Parts(m, o), "\n") + "\n" }

// Parts returns the parts of Text, each without its final line break. There is at least one.
func Parts(m Message, o TextOptions) (parts []string) {
	line := func(format string, args ...any) {
		parts = append(parts, fmt.Sprintf("[%d] "+format, append([]any{m.Ordinal}, args...)...))
	}
	if m.Decoded == nil {
		line("(this message cannot be read: the harness's store is damaged here)")
		return parts
	}
	for i := range m.Decoded.Parts {
		switch p := &m.Decoded.Parts[i]; p.Kind {
		case transcript.Text:
			if strings.TrimSpace(p.Text) != "" {
				line("%s: %s", letterOf(m.Decoded.Role), o.shorten(p.Text))
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
		line("%s: (nothing that can be shown as text)", letterOf(m.Decoded.Role))
	}
	return parts
}

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

// letterOf returns the letter of a role, for example "U" for the user. The historian's prompt uses the same
// letters.
func letterOf(r transcript.Role) string {
	switch r {
	case transcript.User:
		return "U"
	case transcript.Assistant:
		return "A"
	}
	return "M"
}

// fileName describes a file without its content, because that may be megabytes of base64.
func fileName(p *transcript.Part) string {
	if strings.HasPrefix(p.URL, "data:") {
		return fmt.Sprintf("%s, %d bytes encoded", p.Mime, len(p.URL))
	}
	return strings.TrimSpace(p.Mime + " " + p.URL)
}
