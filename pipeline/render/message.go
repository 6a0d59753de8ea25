package render

import (
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

// Frame is what the rendering of a message depends on beside its own content
// and its units.
type Frame struct {
	Profile Profile
	// Gaps says whether pauses before messages are shown.
	Gaps bool
	// Fused says that the provider takes the message and the assistant message
	// before it for one.
	Fused bool
	// Todo is the synthetic part that the message carries at its end, if any.
	Todo json.Value
}

// UnitOf returns the frozen unit of a part, or nil when it has none.
type UnitOf func(p *transcript.Part) *frozen.Unit

// Patch returns what turns the raw message of m into its share of the wire.
// The order is that of spec transform §27 D: contents first, then what is
// removed, then what depends on what is left. Removals come last and from the
// end, so that the paths of the operations before them hold.
func (o Options) Patch(m *transcript.Message, unitOf UnitOf, f Frame) schema.Patch {
	r := messageRenderer{Options: o, Frame: f, m: m, units: make([]*frozen.Unit, len(m.Parts)), removed: make([]bool, len(m.Parts))}
	isShell := false
	for i := range m.Parts {
		u := unitOf(&m.Parts[i])
		r.units[i] = u
		if u != nil {
			r.unthought = r.unthought || u.Unthought
			isShell = isShell || u.IsShell
		}
	}
	if isShell {
		r.shell()
	} else {
		r.contents()
		r.reasoning()
	}
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if r.removed[i] {
			r.patch = append(r.patch, schema.PatchOp{Op: "remove", Path: m.Parts[i].Path})
		}
	}
	if f.Todo != nil {
		r.patch = append(r.patch, schema.PatchOp{Op: "add", Path: "/parts/-", Value: f.Todo})
	}
	return r.patch
}

type messageRenderer struct {
	Options
	Frame
	m         *transcript.Message
	units     []*frozen.Unit
	unthought bool
	removed   []bool
	patch     schema.Patch
}

func (r *messageRenderer) contents() {
	lostArc := false
	for i := range r.m.Parts {
		p, u := &r.m.Parts[i], r.units[i]
		switch {
		case u == nil:
		case p.Kind == transcript.Text:
			r.text(p, u)
		case p.Kind == transcript.File:
			r.file(p, u)
		case p.Kind == transcript.Tool && u.Edit == frozen.Drop:
			r.removed[i], lostArc = true, true
		case p.Kind == transcript.Tool:
			r.tool(p, u)
		}
	}
	if lostArc && !r.keeps(transcript.Tool) && (r.Profile.ForgetsReasoning || !r.keeps(transcript.Text)) {
		// Reasoning goes with the last arc of its message: thinking without the
		// call it led to is what providers reject, and a signed one may only be
		// left out whole. A provider that misses reasoning wants it with the text
		// that it led to as well, so there it stays with one.
		r.removeReasoning(func(*transcript.Part) bool { return true })
	}
}

// keeps reports whether a part of that kind stays.
func (r *messageRenderer) keeps(k transcript.Kind) bool {
	for i := range r.m.Parts {
		if p := &r.m.Parts[i]; p.Kind == k && !p.Hidden && !r.removed[i] {
			return true
		}
	}
	return false
}

func (r *messageRenderer) removeReasoning(which func(*transcript.Part) bool) {
	for i := range r.m.Parts {
		if p := &r.m.Parts[i]; p.Kind == transcript.Reasoning && which(p) {
			r.removed[i] = true
		}
	}
}

// reasoning leaves out what was decided, and for a provider that fuses
// consecutive assistant messages all but a block that stands first: it takes at
// most one, at the start (bug class B1). It comes after every removal, because
// what is first depends on them (defect C3).
func (r *messageRenderer) reasoning() {
	if r.unthought {
		r.removeReasoning(r.Profile.LeavesOut)
	}
	if !r.Profile.FusesAssistants || r.m.Role != transcript.Assistant {
		return
	}
	first := !r.Fused
	for i := range r.m.Parts {
		p := &r.m.Parts[i]
		if p.Hidden || r.removed[i] {
			continue
		}
		if p.Kind == transcript.Reasoning && !first {
			r.removed[i] = true
		}
		first = false
	}
}

// shell renders a message of which nothing is worth sending. Where the harness
// leaves out what is empty it vanishes; everywhere else a text has to stay,
// because the messages around it must not touch.
func (r *messageRenderer) shell() {
	const shellText = "[dropped]"
	kept := r.Profile.DropsEmptyText
	for i := range r.m.Parts {
		p := &r.m.Parts[i]
		switch {
		case p.Hidden:
		case p.Kind == transcript.Text && !kept:
			kept = true
			r.replace(p.TextPath, json.Quote(shellText))
		default:
			r.removed[i] = true
		}
	}
}

func (r *messageRenderer) replace(path string, v json.Value) {
	r.patch = append(r.patch, schema.PatchOp{Op: "replace", Path: path, Value: v})
}

// put writes the text at path: only what comes before it where the rest is what
// the harness has, so that a resync does not carry everything back.
func (r *messageRenderer) put(path, raw, lead, body string) {
	switch {
	case body != raw:
		r.replace(path, json.Quote(lead+body))
	case lead != "":
		r.patch = append(r.patch, schema.PatchOp{Op: "prepend", Path: path, Value: json.Quote(lead)})
	}
}

func (r *messageRenderer) file(p *transcript.Part, u *frozen.Unit) {
	if !u.Active() {
		r.replace(p.Path, r.Codec.TextPart(*p, Placeholder(u.Tag)))
	}
}

func (r *messageRenderer) tool(p *transcript.Part, u *frozen.Unit) {
	if u.Edit == frozen.Skeleton {
		r.patch = append(r.patch, skeleton(p, u.Tag)...)
		return
	}
	if u.Edit == frozen.Clamp {
		if clamped := ClampLong(p.Input); clamped != nil {
			r.replace(p.InputPath, clamped)
		}
	}
	if r.Prefixes && p.TextPath != "" {
		r.put(p.TextPath, p.Text, Prefix(u.Tag), StripTags(p.Text))
	}
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
