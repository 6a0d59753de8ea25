package render

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// Options are the choices that are fixed for a session.
type Options struct {
	Codec transcript.Codec
	// Prefixes says whether active units show their tag.
	Prefixes bool
}

// UnitOf returns the frozen unit of a part, or nil when it has none.
type UnitOf func(p *transcript.Part) *frozen.Unit

// Patch returns what turns the raw message of m into its share of the wire.
// Removals come last and from the end, so that the paths of the operations
// before them hold.
func (o Options) Patch(m *transcript.Message, unitOf UnitOf) schema.Patch {
	var patch schema.Patch
	var removed []int
	for i := range m.Parts {
		p := &m.Parts[i]
		u := unitOf(p)
		if u == nil {
			continue
		}
		ops, remove := o.part(p, u)
		patch = append(patch, ops...)
		if remove {
			removed = append(removed, i)
		}
	}
	if len(removed) > 0 && !keepsArc(m, removed) {
		removed = append(removed, reasoning(m)...)
		slices.Sort(removed)
	}
	for _, i := range slices.Backward(removed) {
		patch = append(patch, schema.PatchOp{Op: "remove", Path: m.Parts[i].Path})
	}
	return patch
}

// part returns the operations inside one part, or that the part goes.
func (o Options) part(p *transcript.Part, u *frozen.Unit) (ops schema.Patch, remove bool) {
	switch {
	case u.Active():
		if !o.Prefixes || p.TextPath == "" {
			return nil, false
		}
		return schema.Patch{tagged(p, u.Tag)}, false
	case p.Kind == transcript.File:
		return schema.Patch{{Op: "replace", Path: p.Path, Value: o.Codec.TextPart(*p, Placeholder(u.Tag))}}, false
	case p.Kind == transcript.Text:
		return schema.Patch{{Op: "replace", Path: p.TextPath, Value: json.Quote(Placeholder(u.Tag))}}, false
	case u.Edit == frozen.Skeleton:
		return skeleton(p, u.Tag), false
	default:
		return nil, true
	}
}

// tagged puts the tag in front of the content. Imitated tags that the content
// starts with are taken off; only then the content itself has to travel.
func tagged(p *transcript.Part, tag int) schema.PatchOp {
	if clean := StripTags(p.Text); clean != p.Text {
		return schema.PatchOp{Op: "replace", Path: p.TextPath, Value: json.Quote(Prefix(tag) + clean)}
	}
	return schema.PatchOp{Op: "prepend", Path: p.TextPath, Value: json.Quote(Prefix(tag))}
}

func skeleton(p *transcript.Part, tag int) schema.Patch {
	patch := schema.Patch{{Op: "replace", Path: p.TextPath, Value: json.Quote(Placeholder(tag))}}
	if clamped := clampInput(p.Input); clamped != nil {
		patch = append(patch, schema.PatchOp{Op: "replace", Path: p.InputPath, Value: clamped})
	}
	if p.AttachmentsPath != "" {
		patch = append(patch, schema.PatchOp{Op: "remove", Path: p.AttachmentsPath})
	}
	return patch
}

// keepsArc reports whether a tool arc of m stays when the parts at removed go.
func keepsArc(m *transcript.Message, removed []int) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == transcript.Tool && !slices.Contains(removed, i) {
			return true
		}
	}
	return false
}

// reasoning lists the reasoning parts of m. They go with the last arc of their
// message: thinking without the call it led to is what providers reject, and a
// signed one may only be left out whole.
func reasoning(m *transcript.Message) []int {
	var parts []int
	for i := range m.Parts {
		if m.Parts[i].Kind == transcript.Reasoning {
			parts = append(parts, i)
		}
	}
	return parts
}
