package pipeline

import (
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// NotePlace returns the tag of the newest unit to which a note may be added, or 0. The provider must not have seen the
// unit, because a note would then change the prefix. The unit must not contain a reminder already.
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
		if isKnown { // the provider has seen this message and the messages before it
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

type New struct {
	Message *transcript.Message
	Part    *transcript.Part
}

// News looks only at the last maxNew messages. If the host sees more new messages at once, for example because some
// requests were sent without it, the provider has already seen most of them. A note in one of these messages would
// change the prefix.
const maxNew = 4

// News returns the parts to which the newest Update has given tags, and to which a note may be added.
func (s *Session) News() (news []New) {
	for i := len(s.entries) - 1; i >= max(0, len(s.entries)-maxNew); i-- {
		m := s.entries[i].decoded
		if m == nil || m.Hidden {
			break
		}
		keys, isKnown := newUnitKeys(m), false
		for j := range m.Parts {
			p := &m.Parts[j]
			switch u := s.State.ByKey(keys.of(p)); {
			case u == nil:
			case u.Tag < s.freshFrom:
				isKnown = true
			case takesNote(m, p):
				news = append(news, New{m, p})
			}
		}
		if isKnown {
			break
		}
	}
	return news
}

// EachVisible calls yield for each text of the head and for each raw message that has a unit on the next wire, until
// yield returns false. d is the decision of the pass.
func (s *Session) EachVisible(d Decision, yield func([]byte) bool) {
	shown := s.State.With(d.Additions.Additions)
	if !yield([]byte(shown.Head.Baseline)) || !yield([]byte(shown.Head.Delta)) {
		return
	}
	for i := len(s.entries) - 1; i >= 0; i-- {
		for _, it := range s.entries[i].items {
			if u := shown.ByTag(it.Tag); u != nil && (u.Active() || shown.Head.Pins(u.MessageKey)) {
				if !yield(s.entries[i].raw) {
					return
				}
				break
			}
		}
	}
}
