package render

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// text renders a text unit. If isBare is true, signed thinking follows the text and is
// bound to its exact bytes. Then the text gets no tag, and keeps the tags that the model
// itself wrote before it.
func (r *messageRenderer) text(p *transcript.Part, u *frozen.Unit, isBare bool) {
	if !u.Active() {
		r.replace(p.TextPath, json.Quote(standIn(u)))
		return
	}
	body := p.Text
	if r.Prefixes && !isBare && r.m.Role == transcript.Assistant {
		// Usually, the host removes imitated tags from an answer before the harness stores it. This answer was stored
		// while no host ran. All tags up to the unit's own tag were given before the answer was sent for the first
		// time, so they are removed here. Higher numbers stay: if they were removed as soon as the session gives them,
		// the wire would change at that moment.
		body = CutImitations(body, func(tag int) bool { return tag >= 1 && tag <= u.Tag })
	}
	if u.Stripped {
		body = unlessBlank(text.StripInjections(body), body)
	}
	if r.unthought && r.m.Role == transcript.Assistant {
		body = unlessBlank(text.StripInlineThinking(body), body)
	}
	if u.Level > 0 {
		// Compression always starts from the whole text, so that the result does not
		// depend on earlier levels.
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

// unlessBlank returns changed, or raw if changed is blank, because providers
// refuse blank text.
func unlessBlank(changed, raw string) string {
	if strings.TrimSpace(changed) == "" {
		return raw
	}
	return changed
}

// isJSSpace is another name for text.IsJSSpace, for functions in which a
// parameter named text hides the package.
func isJSSpace(r rune) bool { return text.IsJSSpace(r) }
