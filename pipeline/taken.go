package pipeline

import (
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/rule"
)

// A Taken describes an edit of a pass for a person.
type Taken struct {
	frozen.Edit
	rule.Reason
	// Unit is the kind of the edited unit. Tool is the tool of a tool unit.
	Unit frozen.UnitKind
	Tool string
	// Label names the content, for example the file of a call. It is raw text, so the caller must clean it for people.
	Label string
}

// Taken describes the edits of a decision. It decodes the edited messages again, which is too slow for every pass.
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
				labels = s.Labels(map[string]bool{u.MessageKey: true})
				decoded[u.MessageKey] = labels
			}
			t.Unit, t.Tool, t.Label = u.Kind, u.Tool, labels[u.Key]
		}
		taken = append(taken, t)
	}
	return taken
}
