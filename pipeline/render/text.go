package render

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// text renders a text. isBare means that signed thinking follows the text. The thinking is bound to the exact bytes of
// the text, so the text gets no tag, and tags that the model wrote at its start stay.
func (r *messageRenderer) text(p *transcript.Part, u *frozen.Unit, isBare bool) {
	if !u.Active() {
		r.replace(p.TextPath, json.Quote(standIn(u)))
		return
	}
	body := p.Text
	if r.Prefixes && !isBare && r.m.Role == transcript.Assistant {
		// Usually, the host removes imitated tags before the harness stores an answer. This answer was stored while no
		// host ran. Only tags up to the unit's own are removed: they were given before the answer was first sent. If
		// higher tags were removed, the text would change when the session gives them later.
		body = CutImitations(body, func(tag int) bool { return tag >= 1 && tag <= u.Tag })
	}
	if u.Stripped {
		body = unlessBlank(text.StripInjections(body), body)
	}
	if r.unthought && r.m.Role == transcript.Assistant {
		body = unlessBlank(text.StripInlineThinking(body), body)
	}
	if u.Level > 0 {
		// Each level compresses the whole text again, so earlier levels do not matter.
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
