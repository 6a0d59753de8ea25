package budget

import (
	"cmp"
	"context"
	"math"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/work"
)

const (
	// mostOutput is the largest possible answer in one step, in tokens, if neither the question nor the model sets a
	// limit.
	mostOutput = 32_000
	// A harness adds text of its own to a question, for example a description of the machine. framing is an upper bound
	// for this text, in tokens.
	framing = 4_000
	// A provider may count more tokens in a text than the host does, but at most `coarseness` times as many.
	coarseness = 2
)

// Worst returns the most that a question can cost. In each step, the model reads the question again, together with its
// answers in the earlier steps, so each step costs more than the one before it.
func (g *Governor) Worst(ctx context.Context, cfg schema.Config, q ask.Request, steps int) work.Spent {
	output := cmp.Or(q.MaxOutput, mostOutput)
	if provider, id, ok := ask.Split(q.Model); ok {
		if n := g.Models.Facts(ctx, schema.Model{Provider: provider, ID: id}).Row.OutputTokens; n > 0 {
			output = min(output, n)
		}
	}
	var all work.Spent
	question := coarseness*q.Tokens() + framing
	for step := range steps {
		input := question + step*output
		var dearest int64
		for _, used := range []ask.Usage{{Input: input}, {CacheWrite: input}, {CacheRead: input}} {
			used.Output = output
			money, _ := g.price(ctx, cfg, q.Model, used)
			dearest = max(dearest, money)
		}
		all.Money += dearest
		all.Tokens += int64(input + output)
	}
	return all
}

// The method `price` returns the cost of tokens in billionths of a dollar. If the model's price is unknown, isPriced is
// false, and `price` uses the prices of the most expensive known model.
func (g *Governor) price(ctx context.Context, cfg schema.Config, name string, used ask.Usage) (money int64, isPriced bool) {
	provider, id, _ := ask.Split(name)
	m := schema.Model{Provider: provider, ID: id}
	if facts := g.Models.Facts(ctx, m); facts.IsPriced {
		return bill(facts, m, cfg, used), true
	}
	known, err := g.Store.Models.Priced(ctx)
	if err != nil {
		g.Log.Warn("prices of models not read", "error", err)
	}
	for _, k := range known {
		m := schema.Model{Provider: k[0], ID: k[1]}
		money = max(money, bill(g.Models.Facts(ctx, m), m, cfg, used))
	}
	return money, false
}

func bill(f model.Facts, m schema.Model, cfg schema.Config, used ask.Usage) int64 {
	tokens := promptcache.Tokens{Fresh: used.Input, Write: used.CacheWrite, Read: used.CacheRead, Output: used.Output}
	return int64(math.Ceil(promptcache.Bill(tokens.Billed(model.CliffOf(cfg, m)), f.Price) * chronicle.Dollar))
}
