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

// Frame holds the facts outside of a message that decide how the message is rendered.
type Frame struct {
	Profile Profile
	// Gaps says whether pauses are shown before messages.
	Gaps bool
	// Fused means that the provider merges the message with the assistant message before it.
	Fused bool
	// KeepsCall means that the message must have a call. If all its calls are dropped, the last one becomes a skeleton.
	KeepsCall bool
	// KeepsText means that the provider must get a message here. If the message is a shell or an empty answer, a short
	// text takes its place.
	KeepsText bool
	// Marked means that the message belongs to the host's compaction marker: it is the marker's summary, or the prompt
	// before that summary. The marker's parts are only for the harness, so they are not sent.
	Marked bool
	// Todo holds the operations that add the synthetic todo list to the message. It is nil for most messages.
	Todo schema.Patch
	// Binds means that the model binds its thinking to its prompt.
	Binds bool
	// Foreign means that the model that wrote the message is not the model that gets the request.
	Foreign bool
	// Unbound means that the prompt before the message has changed since the model wrote the message. The message's
	// thinking is invalid and must not be sent.
	Unbound bool
}

// UnitOf returns the frozen unit of a part, or nil if the part has none.
type UnitOf func(p *transcript.Part) *frozen.Unit

// Patch returns the operations that turn the raw message of m into its form on the wire. The remove operations come
// last, from the end of the message to its start, because each removal changes the paths of the parts after it.
func (o Options) Patch(m *transcript.Message, unitOf UnitOf, f Frame) schema.Patch {
	if m.Hidden {
		// The harness does not send this message. If a patch added a placeholder to it, the harness might begin to send
		// it.
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
	// `changed` marks the parts whose form on the wire differs from the form that the model wrote.
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
			r.changed[i] = u.Edit != frozen.NoEdit // a tag or a note only changes the result, which follows the whole answer
		}
	}
	if lostArc && (r.Profile.StepsLeaveWhole || r.isBlank()) {
		r.leave()
		return
	}
	if lostArc && !r.keeps(transcript.Tool) && (r.Profile.ForgetsReasoning || !r.keeps(transcript.Text)) {
		// The message has lost its last call, so its reasoning must be removed, too. Providers reject thinking whose
		// call is missing, and signed thinking can only be removed as a whole. But if a text stays, and the provider
		// needs the reasoning of earlier turns (ForgetsReasoning is false), the reasoning stays with the text.
		r.removeReasoning(func(*transcript.Part) bool { return true })
	}
	if lostArc && !r.Profile.ForgetsReasoning {
		r.removeLoneReasoning()
	}
}

// The method `leave` removes the whole message, including hidden texts and hidden reasoning. A part may be hidden only
// because it is empty, but the harness sends empty parts to some providers. If only such a part were left of the
// message, the provider would refuse the request.
func (r *messageRenderer) leave() {
	for i := range r.m.Parts {
		p := &r.m.Parts[i]
		r.removed[i] = r.removed[i] || !p.Hidden || p.Kind == transcript.Text || p.Kind == transcript.Reasoning
	}
	r.patch = nil
}

// The method `emptiness` removes an answer without visible content. For many providers, the harness sends such an
// answer as an empty text, and the provider's SDK merges this text with the steps around it. If the host has removed
// these steps, nothing is left to merge: the SDK sends a message without content, and the provider refuses the request.
// If Frame.KeepsText is true, shellText replaces the answer instead.
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

// lastArc returns the index of the last call that reaches the provider, or -1.
func (r *messageRenderer) lastArc() int {
	for i := len(r.m.Parts) - 1; i >= 0; i-- {
		if p := &r.m.Parts[i]; p.Kind == transcript.Tool && !p.Hidden {
			return i
		}
	}
	return -1
}

// isBlank reports whether the rest of the message is only blank texts and reasoning. Providers refuse such an answer.
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

// shell renders a message that has no content worth sending. Usually, shellText replaces the content, so that the
// provider does not join the messages before and after it. In two cases, the message disappears instead:
//
//   - The message has calls, and the profile removes steps only as a whole (Profile.StepsLeaveWhole).
//   - The harness does not send empty messages to this provider (Profile.DropsEmptyText). But a message with signed
//     thinking or with Frame.KeepsText gets shellText even then. Otherwise, an older step with calls but without
//     thinking could become the last answer, for example after a revert, and the provider would refuse it.
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

// The method `put` changes the text at `path` from `raw` to `lead` + `body` + `note`. If `body` equals `raw`, the patch
// contains only `lead` and `note`, because the harness already has the text. If patches repeated unchanged texts, the
// answer to a resync would contain all texts of the session.
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
