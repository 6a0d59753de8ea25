package pipeline

import (
	"slices"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

type Form struct {
	// Tag is the tag of the part's unit, or 0 without a unit. Label describes the part to a person (see
	// Session.Labels).
	Tag   int
	Label string
	// Raw is the part as the harness sends it. Sent is its form on the wire. Sent is nil if the part is not sent.
	Raw  transcript.Part
	Sent *transcript.Part
}

// FormsOf returns the parts of a message as the last rendering has sent them, or nil if the array does not hold the
// message. It decodes the message again, which is too slow for a pass.
func FormsOf(s *Session, messageKey string) []Form {
	i, ok := s.index[messageKey]
	if !ok || s.entries[i].isMarker() {
		return nil
	}
	e := &s.entries[i]
	m := s.Codec.Decode(e.raw)
	whole, gone := withoutRemovals(e.patch, &m, s.Codec.Vocabulary().Paths)
	patched, err := render.Apply(e.raw, whole)
	if err != nil {
		return nil
	}
	sent := s.Codec.Decode(patched) // no patch removes a part, so the parts have the same indexes as the raw parts
	forms, keys := make([]Form, 0, len(m.Parts)), newUnitKeys(&m)
	for j := range min(len(m.Parts), len(sent.Parts)) {
		p := m.Parts[j]
		f := Form{Raw: p, Label: labelOf(&p)}
		if u := s.State.ByKey(keys.of(&p)); u != nil {
			f.Tag = u.Tag
		}
		if !gone[p.Path] && !m.Hidden && !sent.Parts[j].Hidden {
			f.Sent = &sent.Parts[j]
		}
		forms = append(forms, f)
	}
	return forms
}

func withoutRemovals(patch schema.Patch, m *transcript.Message, paths transcript.Paths) (rest schema.Patch, gone map[string]bool) {
	gone = make(map[string]bool)
	results := []string{paths.Message, paths.Results}
	for i := range m.Parts {
		results = append(results, m.Parts[i].Path, m.Parts[i].ResultPath)
	}
	removed := make(map[string]bool)
	for _, op := range patch {
		if op.Op == "remove" && op.Path != "" && slices.Contains(results, op.Path) {
			removed[op.Path] = true
			continue
		}
		rest = append(rest, op)
	}
	for i := range m.Parts {
		gone[m.Parts[i].Path] = removed[m.Parts[i].Path] || paths.Message != "" && removed[paths.Message]
	}
	return rest, gone
}
