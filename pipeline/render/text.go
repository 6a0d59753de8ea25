package render

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// text renders a text part. If isBare is true, signed thinking follows the text. Such thinking is bound to the exact
// bytes of the text, so the renderer adds no tag to the text, and keeps tags that the model wrote at its start.
func (r *messageRenderer) text(p *transcript.Part, u *frozen.Unit, isBare bool) {
	if !u.Active() {
		r.replace(p.TextPath, json.Quote(standIn(u)))
		return
	}
	body := p.Text
	if r.Prefixes && !isBare && r.m.Role == transcript.Assistant {
		// Sometimes the model imitates tags at the start of its answer. Usually, the host removes them before the
		// harness stores the answer, but no host was running when this answer was stored. Only tags up to the unit's
		// own are removed, because they already existed when the answer was sent. A higher tag may be given to a unit
		// later. If the host then removed it from this text, the wire would change.
		body = CutImitations(body, func(tag int) bool { return tag >= 1 && tag <= u.Tag })
	}
	if u.Stripped {
		body = unlessBlank(text.StripInjections(body), body)
	}
	if r.unthought && r.m.Role == transcript.Assistant {
		body = unlessBlank(text.StripInlineThinking(body), body)
	}
	if u.Level > 0 {
		// Each level starts from the original text, so it does not matter which levels were applied before.
		body = unlessBlank(text.Compress(body, text.Level(u.Level)), body)
	}
	lead := ""
	if r.Prefixes && !isBare {
		lead = Prefix(u.Tag)
	}
	if r.Gaps && u.GapSeconds > 0 && !text.StartsWithGap(body) {
		lead += text.GapMarker(float64(u.GapSeconds))
	}
	r.put(p.TextPath, p.Text, lead, body, u.Note)
}

// Providers refuse blank text.
func unlessBlank(changed, raw string) string {
	if strings.TrimSpace(changed) == "" {
		return raw
	}
	return changed
}

// A function with a parameter named text cannot call text.IsJSSpace.
func isJSSpace(r rune) bool { return text.IsJSSpace(r) }
