package pipeline

import (
	"path"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// aboutRunes bounds the text that About returns for a unit.
const aboutRunes = 80

// About describes units to a person, by unit key: a text by its first words, a file by
// its name, a call by its most telling argument. It decodes the messages in question
// again, so a pass must not call it.
func (s *Session) About(messageKeys map[string]bool) map[string]string {
	about := make(map[string]string)
	for i := range s.entries {
		e := &s.entries[i]
		if !messageKeys[e.header.key] {
			continue
		}
		m := s.Codec.Decode(e.raw)
		keys := newUnitKeys(&m)
		for j := range m.Parts {
			p := &m.Parts[j]
			if key := keys.of(p); key != "" {
				about[key] = beginning(describe(p))
			}
		}
	}
	return about
}

func describe(p *transcript.Part) string {
	switch p.Kind {
	case transcript.Tool:
		return argument(p.Input)
	case transcript.File:
		if name := path.Base(p.URL); !strings.HasPrefix(p.URL, "data:") {
			return name
		}
		return p.Mime
	}
	return p.Text
}

// telling are the arguments that tell a call from others of its tool, best first.
var telling = []string{"filePath", "path", "command", "pattern", "url", "query", "description"}

// argument returns the most telling argument of a call, or all of them if none of the
// well-known ones is there.
func argument(input json.Value) string {
	var all map[string]json.Value
	if json.Unmarshal(input, &all) != nil {
		return string(input)
	}
	for _, name := range telling {
		var text string
		if json.Unmarshal(all[name], &text) == nil && text != "" {
			return text
		}
	}
	return string(input)
}

// beginning returns the first words of a text in one line.
func beginning(text string) string {
	if len(text) > 8*aboutRunes { // splitting a whole file would take long
		text = text[:8*aboutRunes]
	}
	runes := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), ""))
	if len(runes) > aboutRunes {
		return string(runes[:aboutRunes-1]) + "…"
	}
	return string(runes)
}
