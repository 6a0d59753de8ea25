package notice

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/background"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/pass"
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
	NoticeTroubles = "troubles"
)

// Notices are what the user is told without asking.
type Notices struct {
	Models     *model.Models
	Background *background.Work
	Log        *slog.Logger
}

// New returns the notices of a host.
func New(models *model.Models, work *background.Work, log *slog.Logger) *Notices {
	return &Notices{models, work, log}
}

// Feature attaches the notices to the passes.
func (n *Notices) Feature() pass.Feature {
	return pass.Feature{Done: func(_ context.Context, ps *pass.Pass) {
		n.tellOfBust(ps)
		n.tellOfPrompt(ps)
	}}
}

// Show shows a notice in the harness, and waits until the harness has taken it.
func (n *Notices) Show(c client.Client, key store.Key, directory, variant, message string) {
	ctx, cancel := context.WithTimeout(n.Background.Lifetime(), noticeTimeout)
	defer cancel()
	err := c.Show(ctx, schema.NotifyShowParams{Directory: directory, Title: "magicctx", Message: message, Variant: variant})
	if err != nil {
		n.Log.Info("notice not shown", "session", key.Session, "cause", err)
	}
}

// tellOfBust tells the user what the pass has removed from the prompt.
func (n *Notices) tellOfBust(ps *pass.Pass) {
	if !ps.Wire.Bust || ps.Session.Mode().IsSubagent || !slices.Contains(ps.Config.Notices, noticeBusts) {
		return
	}
	changes := changes(ps)
	if changes == "" {
		return
	}
	d, key, directory := ps.Decision, ps.Session.Key, ps.Params.Directory
	passes := pipeline.ExpectedPasses(ps.Session.Row.Passes)
	n.Background.Go(func() {
		text := fmt.Sprintf("%s → %s: %s", format.Tokens(d.Size.Current), format.Tokens(max(0, d.Size.Current-d.Price.Removed)), changes)
		if facts := n.Models.Facts(n.Background.Lifetime(), d.Model); facts.IsPriced {
			if money := promptcache.Bill(expectedSaving(d, passes), facts.Price); money > 0 {
				text += fmt.Sprintf("; saves %s in the next %s", format.AboutDollars(money), format.Count(passes+1, "request"))
			}
		}
		n.Show(ps.Client, key, directory, "info", text)
	})
}

// changes says what a pass has removed, for example "messages 1–42 summarised, 14 results dropped". It is ""
// if the pass has removed nothing.
func changes(ps *pass.Pass) string {
	var parts []string
	d := ps.Decision
	if d.Head != nil && d.Head.Ordinal > ps.Covered {
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
func (n *Notices) tellOfPrompt(ps *pass.Pass) {
	prompt, tokens := ps.Session.Pipe.UnansweredPrompt()
	limit := ps.Readings.Counting.Model.OwnTokens(ps.Readings.LimitTokens)
	if limit <= 0 || tokens*100 < limit*unfitShare || prompt == *toldOf.Of(ps.Session) || !slices.Contains(ps.Config.Notices, NoticeTroubles) {
		return
	}
	*toldOf.Of(ps.Session) = prompt
	key, directory := ps.Session.Key, ps.Params.Directory
	n.Background.Go(func() {
		n.Show(ps.Client, key, directory, "warning", fmt.Sprintf(
			"Your prompt alone has about %s tokens, and the window has %s. Prompts are not shortened: if the provider refuses it, send it in parts, or choose a model with a larger window.",
			format.Tokens(tokens), format.Tokens(limit)))
	})
}

// noticeTimeout bounds the wait for a harness to show a notice.
const noticeTimeout = 5 * time.Second
