package dashboard

import (
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
)

// timelineOf uses today's prices of the session's model. Without a usage, it returns nil. The journal lacks the sizes
// of answers, so the bill covers only the prompts. base is the size of a prompt without its messages, or 0.
func timelineOf(journal []store.PassRow, prices models.LimitsRow, base int) *page.Timeline {
	var passes []*replay.Pass
	isKnown := false
	for _, row := range journal {
		p := &replay.Pass{Pass: row.Pass, Verdict: schema.Verdict(row.Verdict), Cause: row.Cause, Bust: row.Bust, BustCause: row.BustCause, Messages: row.Messages, WireTokens: row.WireTokens, Sources: sourcesOf(row, base)}
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

// The host's counts are scaled so that all parts add up to the provider's count of the prompt.
func sourcesOf(row store.PassRow, base int) replay.Sources {
	head := row.BaselineTokens + row.DeltaTokens
	memories := min(row.MemoryTokens, head)
	tools := min(row.ToolTokens, max(0, row.WireTokens-head))
	thinking := min(row.ReasoningTokens, max(0, row.WireTokens-head-tools))
	messages, scale := max(head, row.WireTokens), 1.0
	if u := row.Usage; u != nil {
		prompt := u.Input + u.CacheRead + u.CacheWrite
		if base == 0 || base > prompt {
			base = max(0, prompt-messages)
		}
		scale = float64(prompt-base) / float64(max(1, messages))
	}
	scaled := func(tokens int) int { return int(scale * float64(tokens)) }
	return replay.Sources{
		System: base, Head: scaled(head - memories), Memories: scaled(memories), Results: scaled(tools), Reasoning: scaled(thinking),
		Text: scaled(messages - head - tools - thinking),
	}
}
