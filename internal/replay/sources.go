package replay

import (
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline/render"
)

// Sources tell how many tokens of a prompt come from each source. The definitions of tools are missing, because the
// harness adds them after its last hook.
type Sources struct {
	// Guidance is the part of the system prompt that magicctx appends. System is the rest.
	System   int `json:"system"`
	Guidance int `json:"guidance,omitzero"`
	// Head is the size of the head's messages, without the memories in them. These count as Memories.
	Head     int `json:"head,omitzero"`
	Memories int `json:"memories,omitzero"`
	// Text includes parts of unknown kinds.
	Text      int `json:"text"`
	Reasoning int `json:"reasoning"`
	Inputs    int `json:"toolInputs"`
	Results   int `json:"toolResults"`
	Files     int `json:"files"`
}

func (s Sources) Total() int {
	return s.System + s.Guidance + s.Head + s.Memories + s.Text + s.Reasoning + s.Inputs + s.Results + s.Files
}

func (s Sources) plus(o Sources) Sources {
	return Sources{s.System + o.System, s.Guidance + o.Guidance, s.Head + o.Head, s.Memories + o.Memories, s.Text + o.Text, s.Reasoning + o.Reasoning, s.Inputs + o.Inputs, s.Results + o.Results, s.Files + o.Files}
}

func sourcesOf(w *render.WireMessage) Sources {
	var s Sources
	for i := range w.Blocks {
		b := &w.Blocks[i]
		n := tokens.Count(b.Text) + tokens.Count(string(b.Input)) + tokens.Count(b.Name)
		if b.Kind == render.FileBlock {
			n += tokens.Image(b.Raw)
		} else {
			n += tokens.Count(b.Raw)
		}
		switch b.Kind {
		case render.ReasoningBlock:
			s.Reasoning += n
		case render.CallBlock:
			s.Inputs += n
		case render.ResultBlock:
			s.Results += n
		case render.FileBlock:
			s.Files += n
		default:
			s.Text += n
		}
	}
	return s
}
