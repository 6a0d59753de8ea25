package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

type Options struct {
	Codec transcript.Codec
	// Prefixes says whether each active unit shows its tag to the model, for example `§12§ ` before a text.
	Prefixes bool
}

// Frame holds the surroundings of a message on which its rendering depends.
type Frame struct {
	Profile Profile
	// Gaps says whether the model is shown the pauses before messages.
	Gaps bool
	// Fused means that the provider merges the message with the assistant message before it.
	Fused bool
	// KeepsCall means that a call of the message has to stay. If all its calls are dropped, the last call becomes a
	// skeleton.
	KeepsCall bool
	// KeepsText means that the message must not be removed as an empty shell or as an
	// empty answer. A text stays in its place.
	KeepsText bool
	// Marked means that the message is the summary or the prompt of the host's compaction
	// marker. The marker's rows are for the harness only, so they are not sent.
	Marked bool
	// Todo holds the operations that append the synthetic todo list to the message. It is nil for most messages.
	Todo schema.Patch
	// Binds means that the model accepts thinking only after the exact prompt for which it was produced.
	Binds bool
	// Foreign means that the message was written by another model than the one that gets the request.
	Foreign bool
	// Unbound means that the prompt before the message has changed since the message's thinking was produced.
	// Invalid thinking must not be sent.
	Unbound bool
}

// UnitOf returns the frozen unit of a part, or nil if the part has none.
type UnitOf func(p *transcript.Part) *frozen.Unit

// Patch returns the operations that turn the raw message of m into its form on the wire. The remove operations come
// last and run from the end of the message, so that no operation shifts the path of a later one.
func (o Options) Patch(m *transcript.Message, unitOf UnitOf, f Frame) schema.Patch {
	if m.Hidden {
		// With a placeholder, a message without text would be sent.
		return nil
	}
	r := messageRenderer{
		Options: o, Frame: f, m: m, units: make([]*frozen.Unit, len(m.Parts)),
		removed: make([]bool, len(m.Parts)), changed: make([]bool, len(m.Parts)),
	}
	isShell := false
	for i := range m.Parts {
		u := unitOf(&m.Parts[i])
		r.units[i] = u
		r.removed[i] = f.Marked && (m.Summary || m.Parts[i].Compacts)
		if u != nil {
			r.unthought = r.unthought || u.Unthought
			isShell = isShell || u.IsShell
		}
	}
	if isShell && !f.KeepsCall {
		r.shell()
	} else {
		r.contents()
		r.reasoning()
		r.emptiness()
	}
	r.remove()
	return append(r.patch, f.Todo...)
}

func (r *messageRenderer) remove() {
	paths := r.Codec.Vocabulary().Paths
	if paths.Message != "" && r.hasVanished() {
		if slices.ContainsFunc(r.m.Parts, func(p transcript.Part) bool { return isResult(p.ResultPath, paths) || isResult(p.Path, paths) }) {
			r.patch = append(r.patch, schema.PatchOp{Op: "remove", Path: paths.Results})
		}
		r.patch = append(r.patch, schema.PatchOp{Op: "remove", Path: paths.Message})
		return
	}
	var results []string
	for i := len(r.m.Parts) - 1; i >= 0; i-- {
		p := &r.m.Parts[i]
		switch {
		case !r.removed[i]:
		case isResult(p.Path, paths): // a result without its call
			results = append(results, p.Path)
		default:
			r.patch = append(r.patch, schema.PatchOp{Op: "remove", Path: p.Path})
			if p.ResultPath != "" {
				results = append(results, p.ResultPath)
			}
		}
	}
	slices.SortFunc(results, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(b, a)) }) // from the end
	for _, path := range results {
		r.patch = append(r.patch, schema.PatchOp{Op: "remove", Path: path})
	}
}

func isResult(path string, paths transcript.Paths) bool {
	return paths.Results != "" && strings.HasPrefix(path, paths.Results+"/")
}

func (r *messageRenderer) hasVanished() bool {
	if r.m.Role != transcript.Assistant || len(r.patch) > 0 || len(r.Todo) > 0 || !slices.Contains(r.removed, true) {
		return false
	}
	for i := range r.m.Parts {
		if !r.removed[i] && !r.m.Parts[i].Hidden {
			return false
		}
	}
	return true
}

type messageRenderer struct {
	Options
	Frame
	m         *transcript.Message
	units     []*frozen.Unit
	unthought bool
	removed   []bool
	// changed marks parts that are not sent as the model wrote them.
	changed []bool
	patch   schema.Patch
}

func (r *messageRenderer) contents() {
	lostArc, staysWhole, skeletonOf := false, r.Profile.StepsLeaveWhole && (r.keepsArc() || r.KeepsCall || r.says()), -1
	if r.KeepsCall && !r.keepsArc() {
		skeletonOf = r.lastArc()
	}
	for i := range r.m.Parts {
		p, u := &r.m.Parts[i], r.units[i]
		switch {
		case u == nil:
		case p.Kind == transcript.Text:
			before := len(r.patch)
			r.text(p, u, r.Binds && r.thinksAfter(i))
			r.changed[i] = len(r.patch) > before
		case p.Kind == transcript.File:
			r.file(p, u)
		case p.Kind == transcript.Tool && u.Edit == frozen.Drop && (staysWhole || i == skeletonOf):
			r.patch = append(r.patch, r.skeleton(p, u)...)
			r.changed[i] = true
		case p.Kind == transcript.Tool && u.Edit == frozen.Drop:
			r.removed[i], lostArc = true, true
		case p.Kind == transcript.Tool:
			r.tool(p, u)
			r.changed[i] = u.Edit != frozen.NoEdit // a tag or a note changes the result only, which the provider gets after the whole answer
		}
	}
	if lostArc && (r.Profile.StepsLeaveWhole || r.isBlank()) {
		r.leave()
		return
	}
	if lostArc && !r.keeps(transcript.Tool) && (r.Profile.ForgetsReasoning || !r.keeps(transcript.Text)) {
		// When the last arc of a message is removed, its reasoning is removed as well: providers reject thinking
		// without the call that followed it, and signed thinking may only be left out whole. A provider that requires
		// the reasoning of earlier turns (ForgetsReasoning is false) also requires reasoning with a text, so the
		// reasoning stays if a text stays.
		r.removeReasoning(func(*transcript.Part) bool { return true })
	}
	if lostArc && !r.Profile.ForgetsReasoning {
		r.removeLoneReasoning()
	}
}

// The harness leaves out empty texts and reasoning for some providers only, and the others refuse them, so leave
// removes these, too.
func (r *messageRenderer) leave() {
	for i := range r.m.Parts {
		p := &r.m.Parts[i]
		r.removed[i] = r.removed[i] || !p.Hidden || p.Kind == transcript.Text || p.Kind == transcript.Reasoning
	}
	r.patch = nil
}

// emptiness removes an answer without visible content. For many providers, the harness sends such an answer as an
// empty text, and the provider's SDK merges this text with the steps around it. If the host removes these steps, the
// text becomes a message without content, and the provider refuses the request. With Frame.KeepsText, the answer
// stays with shellText.
func (r *messageRenderer) emptiness() {
	if r.m.Role != transcript.Assistant || r.Profile.DropsEmptyText || !r.Codec.Vocabulary().SendsEmptyText {
		return
	}
	for i := range r.m.Parts {
		if !r.m.Parts[i].Hidden && !r.removed[i] {
			return
		}
	}
	r.leave()
	if !r.KeepsText {
		return
	}
	for i := range r.m.Parts {
		if p := &r.m.Parts[i]; p.Kind == transcript.Text {
			r.removed[i] = false
			r.replace(p.TextPath, json.Quote(shellText))
			return
		}
	}
}

func (r *messageRenderer) keepsArc() bool {
	for i := range r.m.Parts {
		if p, u := &r.m.Parts[i], r.units[i]; p.Kind == transcript.Tool && !p.Hidden && (u == nil || u.Edit != frozen.Drop) {
			return true
		}
	}
	return false
}

func (r *messageRenderer) says() bool {
	for i := range r.m.Parts {
		p, u := &r.m.Parts[i], r.units[i]
		isNothing := p.Hidden || p.Kind == transcript.Tool || p.Kind == transcript.Reasoning || p.Kind == transcript.Text && strings.TrimSpace(p.Text) == ""
		if !isNothing && (u == nil || u.Active()) {
			return true
		}
	}
	return false
}

// lastArc skips calls that the harness keeps from the provider. It returns -1 if the message has no call.
func (r *messageRenderer) lastArc() int {
	for i := len(r.m.Parts) - 1; i >= 0; i-- {
		if p := &r.m.Parts[i]; p.Kind == transcript.Tool && !p.Hidden {
			return i
		}
	}
	return -1
}

// Providers refuse a message of the model that holds only blank texts and reasoning.
func (r *messageRenderer) isBlank() bool {
	for i := range r.m.Parts {
		p := &r.m.Parts[i]
		isNothing := p.Hidden || r.removed[i] || p.Kind == transcript.Reasoning || p.Kind == transcript.Text && strings.TrimSpace(p.Text) == ""
		if !isNothing {
			return false
		}
	}
	return true
}

func (r *messageRenderer) keeps(k transcript.Kind) bool {
	for i := range r.m.Parts {
		if p := &r.m.Parts[i]; p.Kind == k && !p.Hidden && !r.removed[i] {
			return true
		}
	}
	return false
}

// shellText replaces a message that has no content worth sending.
const shellText = "[dropped]"

// shell renders a message that has no content worth sending. The message vanishes if it has calls and steps are only
// removed whole (Profile.StepsLeaveWhole), or if the harness leaves out empty messages for this provider. Otherwise a
// text stays, because the messages before and after must not be merged. A message with signed thinking, or with
// Frame.KeepsText, always keeps a text: without the message, an older step with calls could become the last answer,
// for example after a revert, and that step's thinking may be missing.
func (r *messageRenderer) shell() {
	if r.Profile.StepsLeaveWhole && r.lastArc() >= 0 {
		r.leave()
		return
	}
	kept := r.Profile.DropsEmptyText && !r.thinksAfter(-1) && !r.KeepsText
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

// If body is the harness's own text, the operations contain only lead and note, so that a resync does not send all texts
// back to the shim.
func (r *messageRenderer) put(path, raw, lead, body, note string) {
	if body != raw {
		r.replace(path, json.Quote(lead+body+note))
		return
	}
	if lead != "" {
		r.patch = append(r.patch, schema.PatchOp{Op: "prepend", Path: path, Value: json.Quote(lead)})
	}
	if note != "" {
		r.patch = append(r.patch, schema.PatchOp{Op: "append", Path: path, Value: json.Quote(note)})
	}
}

func (r *messageRenderer) file(p *transcript.Part, u *frozen.Unit) {
	if !u.Active() {
		r.replace(p.Path, r.Codec.TextPart(*p, standIn(u)))
	}
}

func (r *messageRenderer) tool(p *transcript.Part, u *frozen.Unit) {
	switch u.Edit {
	case frozen.Skeleton:
		r.patch = append(r.patch, r.skeleton(p, u)...)
		return
	case frozen.Withhold:
		r.patch = append(r.patch, r.Codec.ResultText(*p, standIn(u))...)
	}
	if u.Edit == frozen.Clamp || u.Clamped {
		if clamped := ClampLong(p.Input); clamped != nil {
			r.replace(p.InputPath, clamped)
		}
	}
	if p.TextPath == "" || u.Edit == frozen.Withhold {
		return
	}
	tag := ""
	if r.Prefixes {
		tag = Prefix(u.Tag)
	}
	r.put(p.TextPath, p.Text, tag, p.Text, u.Note)
}

func (r *messageRenderer) skeleton(p *transcript.Part, u *frozen.Unit) schema.Patch {
	patch := r.Codec.ResultText(*p, Placeholder(u.Tag))
	if clamped := skeletonInput(p.Input, u.Clamped); clamped != nil {
		patch = append(patch, schema.PatchOp{Op: "replace", Path: p.InputPath, Value: clamped})
	}
	return patch
}
