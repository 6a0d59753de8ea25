package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/notice"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
)

func (sb *Statuses) tellOfBust(ps *pass.Pass) {
	if !ps.Wire.Bust || ps.Session.Mode().IsSubagent || !slices.Contains(ps.Config.Notices, notice.Busts) {
		return
	}
	taken, recourse := Taken(ps)
	if taken == "" {
		return
	}
	d, cause, key, directory := ps.Decision, ps.Wire.BustCause, ps.Session.Key, ps.Params.Directory
	limit, growth := ps.Readings.LimitTokens, ps.Session.Pipe.Growth()
	room := int(ps.Readings.Threshold/100*float64(limit)) - d.Size.Current + d.Price.Removed
	passes := min(pipeline.ExpectedPasses(ps.Session.Row.Passes), max(0, room)/growth) // passes until the next bust may come
	sb.Notices.Background.Go(func() {
		text := words.Shortened(string(d.Cause), d.Size.Current, max(0, d.Size.Current-d.Price.Removed), "", taken)
		if words.KnowsOldSize(string(d.Cause)) {
			text += fmt.Sprintf(" The cache was rebuilt %s.", words.Reason(cause))
			if facts := sb.Models.Facts(sb.Notices.Background.Lifetime(), d.Model); facts.IsPriced {
				money := words.CostsNow(-promptcache.Bill(sparedBy(d, limit, growth, 0), facts.Price))
				if saved := promptcache.Bill(sparedBy(d, limit, growth, passes), facts.Price); saved > 0 {
					money = "saves " + format.AboutDollars(saved) + ifFollow(passes)
				}
				text += " That " + money + "."
			}
		}
		sb.Notices.Show(ps.Client, key, directory, "info", strings.TrimSpace(text+" "+recourse))
	})
}

// ifFollow returns the end of the sentence "That saves …", for example " if 3 more requests follow". If the session
// ends earlier, the bust saves less.
func ifFollow(passes int) string {
	switch passes {
	case 0:
		return " with this request"
	case 1:
		return " if 1 more request follows"
	}
	return fmt.Sprintf(" if %d more requests follow", passes)
}

// Taken says what a pass has removed, or would remove, for example "messages 1–42 summarised, 14 results dropped", or
// "". recourse says how the user finds the removed content.
func Taken(ps *pass.Pass) (taken, recourse string) {
	var parts []string
	d := ps.Decision
	isSummarised := d.Head != nil && d.Head.Ordinal > ps.Covered
	if isSummarised {
		parts = append(parts, fmt.Sprintf("messages %d–%d summarised", ps.Covered+1, d.Head.Ordinal))
	}
	dropped, shortened := make(map[frozen.UnitKind]int), 0
	for _, e := range d.Edits {
		u := ps.Session.Pipe.State.ByTag(e.Tag)
		switch {
		case u == nil:
		case e.Kind == frozen.Drop || e.Kind == frozen.Skeleton:
			dropped[u.Kind]++
		default:
			shortened++
		}
	}
	for _, k := range []struct {
		kind frozen.UnitKind
		noun string
	}{{frozen.ToolUnit, "result"}, {frozen.TextUnit, "text"}, {frozen.FileUnit, "file"}} {
		if count := dropped[k.kind]; count > 0 {
			parts = append(parts, format.Count(count, k.noun)+" dropped")
		}
	}
	if shortened > 0 {
		parts = append(parts, format.Count(shortened, "piece")+" shortened")
	}
	if n := len(d.Released); n > 0 {
		parts = append(parts, format.Count(n, "piece")+" that you kept gone with them")
	}
	return strings.Join(parts, ", "), words.Recourse(len(dropped) > 0, isSummarised)
}

// sparedBy estimates how many tokens a bust saves, in its own request and in the next `passes` requests. It compares
// the session with the same session without the bust. Both prompts grow by `growth` tokens per request, but the larger
// one cannot grow beyond the window.
func sparedBy(d pipeline.Decision, window, growth, passes int) (saved promptcache.Tokens) {
	rest, resent := max(0, d.Size.Current-d.Price.Removed), d.Price.Resent
	spared := func(pass int) int {
		return max(0, min(d.Size.Current+pass*growth, window)-rest-pass*growth)
	}
	for pass := range passes {
		saved.Read += spared(pass + 1)
	}
	if d.Cause.PrefixWasGone() { // the provider had to write this pass's prompt with or without the bust
		saved.Write = spared(0)
	} else {
		saved.Read, saved.Write = saved.Read+spared(0)+resent, -resent
	}
	return saved
}

// A prompt of the user that is larger than this percentage of the window cannot be sent: the system prompt and the
// tools of the harness need the rest of the window.
const unfitShare = 90

// toldOf remembers, for each session, the newest prompt for which the user was told that it does not fit into the
// window.
var toldOf = session.NewLastingSlot[string]()

// If a prompt alone does not fit into the window, tellOfPrompt tells the user, once for each prompt. magicctx cannot
// help then, because it never shortens an unanswered prompt.
func (sb *Statuses) tellOfPrompt(ps *pass.Pass) {
	prompt, tokens := ps.Session.Pipe.UnansweredPrompt()
	limit := ps.Readings.Counting.Model.OwnTokens(ps.Readings.LimitTokens)
	if limit <= 0 || tokens*100 < limit*unfitShare || prompt == *toldOf.Of(ps.Session) || !slices.Contains(ps.Config.Notices, notice.Troubles) {
		return
	}
	*toldOf.Of(ps.Session) = prompt
	key, directory := ps.Session.Key, ps.Params.Directory
	sb.Notices.Background.Go(func() {
		sb.Notices.Show(ps.Client, key, directory, "warning", fmt.Sprintf(
			"Your prompt alone has about %s tokens, and the window has %s. Prompts are not shortened: if the provider refuses it, send it in parts, or choose a model with a larger window.",
			format.Tokens(tokens), format.Tokens(limit)))
	})
}
