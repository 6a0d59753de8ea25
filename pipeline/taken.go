package pipeline

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Taken is an edit of a pass, described for a person.
type Taken struct {
	frozen.Edit
	rule.Reason
	// Unit says what kind of unit the edit is about. Tool is the tool of a tool unit.
	Unit frozen.UnitKind
	Tool string
	// Label names the content: the file of a call, its most telling argument, or the
	// first words of a text. It comes from the transcript as it is, so nobody may show it
	// without cleaning.
	Label string
}

// maxLabel bounds a label, in bytes.
const maxLabel = 160

// Taken describes the edits of a decision. It decodes the edited messages once more, so
// it is not for every pass.
func (s *Session) Taken(d Decision) []Taken {
	decoded := make(map[string]map[string]string) // labels by unit key, by message key
	taken := make([]Taken, 0, len(d.Edits))
	for i, e := range d.Edits {
		t := Taken{Edit: e}
		if i < len(d.Reasons) {
			t.Reason = d.Reasons[i]
		}
		if u := s.State.ByTag(e.Tag); u != nil {
			labels, ok := decoded[u.MessageKey]
			if !ok {
				labels = s.labels(u.MessageKey)
				decoded[u.MessageKey] = labels
			}
			t.Unit, t.Tool, t.Label = u.Kind, u.Tool, labels[u.Key]
		}
		taken = append(taken, t)
	}
	return taken
}

// labels returns the labels of a message's units, by unit key.
func (s *Session) labels(messageKey string) map[string]string {
	i, ok := s.index[messageKey]
	if !ok {
		return nil
	}
	m := s.Codec.Decode(s.entries[i].raw)
	keys, labels := newUnitKeys(&m), make(map[string]string)
	for j := range m.Parts {
		if key := keys.of(&m.Parts[j]); key != "" {
			labels[key] = labelOf(&m.Parts[j])
		}
	}
	return labels
}

// tellingArguments are the names of arguments that tell calls of one tool apart, the most
// telling first.
var tellingArguments = []string{"filePath", "file_path", "path", "command", "pattern", "query", "url", "description", "name"}

func labelOf(p *transcript.Part) string {
	switch p.Kind {
	case transcript.File:
		return p.Mime
	case transcript.Tool:
		return firstWords(argumentOf(p.Input))
	}
	return firstWords(p.Text)
}

// argumentOf returns the most telling argument of a call, or all arguments as JSON.
func argumentOf(input json.Value) string {
	var arguments map[string]json.Value
	if json.Unmarshal(input, &arguments) == nil {
		for _, name := range tellingArguments {
			var text string
			if raw, ok := arguments[name]; ok && json.Unmarshal(raw, &text) == nil && text != "" {
				return text
			}
		}
	}
	return string(input)
}

// firstWords returns the beginning of a text on one line.
func firstWords(text string) string {
	cut := text[:min(len(text), 4*maxLabel)] // white space may fill much of it
	line := strings.ToValidUTF8(strings.Join(strings.Fields(cut), " "), "")
	if len(line) > maxLabel {
		return strings.ToValidUTF8(line[:maxLabel], "") + "…"
	}
	return line
}
