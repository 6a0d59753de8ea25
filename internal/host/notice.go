package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// The values of the key "notices".
const (
	noticeBusts    = "busts"
	noticeTroubles = "troubles"
)

// show shows a notice in the harness, and waits until the harness has taken it.
func (h *Host) show(c client.Client, key store.Key, directory, variant, message string) {
	ctx, cancel := context.WithTimeout(h.background.Lifetime(), noticeTimeout)
	defer cancel()
	err := c.Show(ctx, schema.NotifyShowParams{Directory: directory, Title: "magicctx", Message: message, Variant: variant})
	if err != nil {
		h.Log.Info("notice not shown", "session", key.Session, "cause", err)
	}
}

// tellOfBust tells the user what the pass has removed from the prompt. covered is the number of messages that
// the head stood for before the pass.
func (h *Host) tellOfBust(c client.Client, ps *pass, covered int) {
	if !ps.wire.Bust || ps.s.Mode().IsSubagent || !slices.Contains(ps.config.Notices, noticeBusts) {
		return
	}
	changes := ps.changes(covered)
	if changes == "" {
		return
	}
	d, key, directory := ps.decision, ps.s.Key, ps.params.Directory
	passes := pipeline.ExpectedPasses(ps.s.Row.Passes)
	h.background.Go(func() {
		text := fmt.Sprintf("%s → %s: %s", format.Tokens(d.Size.Current), format.Tokens(max(0, d.Size.Current-d.Price.Removed)), changes)
		if facts := h.models.Facts(h.background.Lifetime(), d.Model); facts.IsPriced {
			if money := promptcache.Bill(expectedSaving(d, passes), facts.Price); money > 0 {
				text += fmt.Sprintf("; saves %s in the next %s", format.AboutDollars(money), format.Count(passes+1, "request"))
			}
		}
		h.show(c, key, directory, "info", text)
	})
}

// changes says what a pass has removed, for example "messages 1–42 summarised, 14 results dropped". It is ""
// if the pass has removed nothing.
func (ps *pass) changes(covered int) string {
	var parts []string
	d := ps.decision
	if d.Head != nil && d.Head.Ordinal > covered {
		parts = append(parts, fmt.Sprintf("messages %d–%d summarised", covered+1, d.Head.Ordinal))
	}
	dropped, shortened := make(map[frozen.UnitKind]int), 0
	for _, e := range d.Edits {
		u := ps.s.Pipe.State.ByTag(e.Tag)
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
		if n := dropped[k.kind]; n > 0 {
			parts = append(parts, format.Count(n, k.noun)+" dropped")
		}
	}
	if shortened > 0 {
		parts = append(parts, format.Count(shortened, "piece")+" shortened")
	}
	return strings.Join(parts, ", ")
}

// expectedSaving estimates what a bust saves in the request of its pass and in the next ones.
func expectedSaving(d pipeline.Decision, passes int) promptcache.Tokens {
	removed, resent := d.Price.Removed, d.Price.Resent
	if d.Cause.PrefixWasGone() { // the provider had to write the prompt of this pass in any case
		return promptcache.Tokens{Read: passes * removed, Write: removed}
	}
	return promptcache.Tokens{Read: (passes+1)*removed + resent, Write: -resent}
}

// unfitShare is the share of the window, in percent, from which a prompt does not fit beside the harness's own
// prompt and tools.
const unfitShare = 90

// toldOf is the newest prompt of which the user was told that it does not fit into the window.
var toldOf = session.NewLastingSlot[string]()

// tellOfPrompt tells the user, once for each prompt, that a prompt alone does not fit into the window. magicctx
// shortens no prompt that waits for its answer.
func (h *Host) tellOfPrompt(c client.Client, ps *pass) {
	prompt, tokens := ps.s.Pipe.UnansweredPrompt()
	limit := ps.readings.Counting.Model.OwnTokens(ps.readings.LimitTokens)
	if limit <= 0 || tokens*100 < limit*unfitShare || prompt == *toldOf.Of(ps.s) || !slices.Contains(ps.config.Notices, noticeTroubles) {
		return
	}
	*toldOf.Of(ps.s) = prompt
	key, directory := ps.s.Key, ps.params.Directory
	h.background.Go(func() {
		h.show(c, key, directory, "warning", fmt.Sprintf(
			"Your prompt alone has about %s tokens, and the window has %s. Prompts are not shortened: if the provider refuses it, send it in parts, or choose a model with a larger window.",
			format.Tokens(tokens), format.Tokens(limit)))
	})
}

// toldAfter is the number of failures in a row after which the user is told that the historian fails. A single
// failure often goes away by itself.
const toldAfter = 2

// tellOfFailure tells the user, once, that the historian fails again and again.
func (h *Host) tellOfFailure(ctx context.Context, p *plan) {
	if !slices.Contains(p.load.config.Notices, noticeTroubles) {
		return
	}
	sum, err := h.Store.History(ctx, p.key)
	if err != nil || sum.Failures != toldAfter {
		return
	}
	c, directory, cause := p.load.client, p.load.directory, shorten(format.Clean(sum.LastError), maxShownName)
	h.background.Go(func() {
		h.show(c, p.key, directory, "warning",
			fmt.Sprintf("The historian has failed twice in a row, so old messages are not summarised well: %s. It tries again by itself. /ctx-status shows its state.", cause))
	})
}
