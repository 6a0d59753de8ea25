package dashboard

import (
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
)

// timelineOf draws the journal of a session at the prices of its model today. It returns nil if no request has a usage.
// The journal does not hold the sizes of the answers, so the bill covers only the prompts.
func timelineOf(journal []store.PassRow, prices models.LimitsRow) *page.Timeline {
	var passes []*replay.Pass
	isKnown := false
	for _, row := range journal {
		p := &replay.Pass{Pass: row.Pass, Verdict: schema.Verdict(row.Verdict), Cause: row.Cause, Bust: row.Bust, BustCause: row.BustCause, Messages: row.Messages, WireTokens: row.WireTokens}
		if u := row.Usage; u != nil {
			isKnown = true
			p.Tokens = promptcache.Tokens{Fresh: u.Input, Write: u.CacheWrite, Read: u.CacheRead}
			p.Bill = promptcache.Bill(p.Tokens, schema.Price{Fresh: prices.PriceFresh, Write: prices.PriceWrite, Read: prices.PriceRead})
		} else if !row.Bust {
			continue // the provider has not answered the request, or has not reported its size
		}
		passes = append(passes, p)
	}
	if !isKnown {
		return nil
	}
	t := page.NewTimeline(passes)
	return &t
}
