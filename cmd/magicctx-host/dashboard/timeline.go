package dashboard

import (
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/view/page"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/models"
)

// timelineOf draws the requests of a session. The bill uses today's prices of the session's model. It includes only the
// prompts, because the journal does not contain the sizes of the answers. base is the size of the system prompt and the
// tools in tokens, or 0 if it is unknown. If no request has a usage, timelineOf returns nil.
func timelineOf(journal []store.PassRow, prices models.LimitsRow, base int) *page.Timeline {
	var passes []*replay.Pass
	isKnown := false
	for _, row := range journal {
		p := &replay.Pass{Pass: row.Pass, Verdict: schema.Verdict(row.Verdict), Cause: row.Cause, Bust: row.Bust, BustCause: row.BustCause, Messages: row.Messages, WireTokens: row.WireTokens, Sources: sourcesOf(row, base)}
		if u := row.Usage; u != nil {
			isKnown = true
			p.Tokens = tokensOf(*u)
			p.Bill = billOf(*u, prices)
		} else if !row.Bust {
			continue // the request has no usage: it was not answered, or the provider reported none
		}
		passes = append(passes, p)
	}
	if !isKnown {
		return nil
	}
	t := page.NewTimeline(passes)
	return &t
}

func tokensOf(u store.Usage) promptcache.Tokens {
	return promptcache.Tokens{Fresh: u.Input, Write: u.CacheWrite, Read: u.CacheRead}
}

// billOf returns the price of a prompt in US dollars. If the prices are unknown, it returns 0.
func billOf(u store.Usage, prices models.LimitsRow) float64 {
	return promptcache.Bill(tokensOf(u), schema.Price{Fresh: prices.PriceFresh, Write: prices.PriceWrite, Read: prices.PriceRead})
}

// sourcesOf splits the prompt of a request into its sources, for example memories and tool results. The host only
// estimates the sizes of the sources, so sourcesOf scales them until they add up to the provider's count of the prompt.
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
