package pipeline

import (
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// NotePlace returns the tag of the newest unit at whose end a note may stand, or 0. The
// newest Update has given the tag, so the provider has not seen the content yet, and the
// note busts nothing. The unit is the result of a tool, or a text of the user. Content
// that already has a reminder, for example from the harness, gets no second one.
func (s *Session) NotePlace() int {
	for i := len(s.entries) - 1; i >= 0; i-- {
		m := s.entries[i].decoded
		if m == nil {
			return 0
		}
		tags := make(map[*transcript.Part]int)
		isKnown, keys := false, newUnitKeys(m)
		for j := range m.Parts {
			if u := s.State.ByKey(keys.of(&m.Parts[j])); u != nil {
				tags[&m.Parts[j]] = u.Tag
				isKnown = isKnown || u.Tag < s.freshFrom
			}
		}
		for j := len(m.Parts) - 1; j >= 0; j-- {
			if p := &m.Parts[j]; tags[p] >= s.freshFrom && !m.Hidden && takesNote(m, p) {
				return tags[p]
			}
		}
		if isKnown { // the provider has seen this message and those before it
			return 0
		}
	}
	return 0
}

func takesNote(m *transcript.Message, p *transcript.Part) bool {
	isResult := p.Kind == transcript.Tool
	isPrompt := p.Kind == transcript.Text && m.Role == transcript.User && p.Origin == transcript.FromUser
	return (isResult || isPrompt) && p.TextPath != "" && strings.TrimSpace(p.Text) != "" && !strings.Contains(p.Text, "<system-reminder>")
}
