package pipeline

import (
	"path"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// maxLabel bounds a label, in bytes.
const maxLabel = 160

// Labels describes units to people, by unit key. It decodes the messages again, which is too slow for a pass.
func (s *Session) Labels(messageKeys map[string]bool) map[string]string {
	labels := make(map[string]string)
	for messageKey := range messageKeys {
		i, ok := s.index[messageKey]
		if !ok {
			continue
		}
		m := s.Codec.Decode(s.entries[i].raw)
		keys := newUnitKeys(&m)
		for j := range m.Parts {
			if key := keys.of(&m.Parts[j]); key != "" {
				labels[key] = labelOf(&m.Parts[j])
			}
		}
	}
	return labels
}

func labelOf(p *transcript.Part) string {
	switch p.Kind {
	case transcript.File:
		if strings.HasPrefix(p.URL, "data:") || p.URL == "" {
			return p.Mime
		}
		return firstWords(path.Base(p.URL))
	case transcript.Tool:
		return firstWords(argumentOf(p.Input))
	}
	return firstWords(p.Text)
}

var tellingArguments = []string{"filePath", "file_path", "path", "command", "pattern", "query", "url", "description", "name"}

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

func firstWords(text string) string {
	cut := text[:min(len(text), 4*maxLabel)] // white space may fill much of it
	line := strings.ToValidUTF8(strings.Join(strings.Fields(cut), " "), "")
	if len(line) > maxLabel {
		return strings.ToValidUTF8(line[:maxLabel], "") + "…"
	}
	return line
}
