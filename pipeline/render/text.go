package render

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// text renders a text unit.
func (r *messageRenderer) text(p *transcript.Part, u *frozen.Unit) {
	if !u.Active() {
		r.replace(p.TextPath, json.Quote(Placeholder(u.Tag)))
		return
	}
	body := p.Text
	if u.Stripped {
		body = unlessBlank(text.StripInjections(body), body)
	}
	if r.unthought && r.m.Role == transcript.Assistant {
		body = unlessBlank(text.StripInlineThinking(body), body)
	}
	if u.Level > 0 {
		// Always from the whole text, so that any order of levels ends alike.
		body = unlessBlank(text.Compress(body, text.Level(u.Level)), body)
	}
	lead := ""
	if r.Prefixes {
		body, lead = StripTags(body), Prefix(u.Tag)
	}
	if r.Gaps && u.GapSeconds > 0 {
		marker := text.GapMarker(float64(u.GapSeconds))
		if marked := text.WithGap(body, marker); marked == marker+body {
			lead += marker
		} else {
			body = marked
		}
	}
	r.put(p.TextPath, p.Text, lead, body)
}

// unlessBlank returns changed, or raw where nothing is left: blank text is what
// providers refuse.
func unlessBlank(changed, raw string) string {
	if strings.TrimSpace(changed) == "" {
		return raw
	}
	return changed
}

// isJSSpace is text.IsJSSpace under a name that no parameter hides.
func isJSSpace(r rune) bool { return text.IsJSSpace(r) }
