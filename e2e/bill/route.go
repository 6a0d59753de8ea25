package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// A billed is a model with its prices and its route. The route says how the provider caches.
type billed struct {
	flag  string
	route route.Route
	// `model` and `other` are two models with the same prices, as "provider/model". A scene may switch from `model` to
	// `other`.
	model, other string
	// The prices are in $ per million tokens. OpenCode is configured with the same prices.
	prices schema.Price
	// `share` is the price of cached tokens, divided by the input price. 0 means usualReads.
	share float64
	// config returns OpenCode's configuration of the provider. If opencodetest configures the model, config is nil.
	config func(mockURL string, l opencodetest.Limits, p schema.Price) map[string]any
	// If binds is true, the model thinks in every step, and its thinking is bound.
	binds bool
}

// The providers cache in different ways, but the price of fresh tokens is the same, so the bills are comparable.
var (
	byAnthropic = billed{flag: "anthropic", route: route.Named("anthropic"), model: opencodetest.ClaudeModel, other: opencodetest.OtherClaudeModel, prices: prices}
	byBinding   = billed{route: route.Named("anthropic"), model: opencodetest.BindingModel, other: opencodetest.OtherBindingModel, prices: prices, binds: true}
	byOpenAI    = billed{
		flag: "openai", route: route.Named("openai"), model: gptProvider + "/" + gpt, other: gptProvider + "/" + otherGPT, prices: gptPrices, config: openaiConfig,
	}
)

// As with a gateway, the name of this provider does not say how the models are cached. So magicctx must derive the
// route from the model's id.
const (
	gptProvider, gpt, otherGPT, smallGPT = "ledger", "gpt-5.2", "gpt-5.1", "gpt-5.2-mini"
)

var gptPrices = schema.Price{Fresh: 3, Write: 3, Read: 0.3, Output: 15}

// has reports whether the model's requests are on the bill. Titles come from another model, which is not on the bill.
func (b billed) has(id string) bool {
	return id == modelID(b.model) || id == modelID(b.other)
}

func modelID(model string) string {
	_, id, _ := strings.Cut(model, "/")
	return id
}

// usualReads is the usual price of cached tokens, as a share of the input price. For some models, the share is 0.05 or
// 0.025.
const usualReads = 0.1

func (b billed) reading(share float64) billed {
	b.share, b.prices.Read = share, share*b.prices.Fresh
	return b
}

func (b billed) reads() float64 { return cmp.Or(b.share, usualReads) }

func billedBy(flag string, binding bool) (billed, error) {
	if binding {
		if flag != byAnthropic.flag {
			return billed{}, fmt.Errorf("-route is %q, but only models of anthropic bind their thinking", flag)
		}
		return byBinding, nil
	}
	for _, b := range []billed{byAnthropic, byOpenAI} {
		if b.flag == flag {
			return b, nil
		}
	}
	return billed{}, fmt.Errorf("-route is %q, want anthropic or openai", flag)
}

// If a model has no fee for cache writes, the real catalogue contains no price for them. So openaiConfig contains none,
// either.
func openaiConfig(mockURL string, l opencodetest.Limits, p schema.Price) map[string]any {
	model := func(name string) map[string]any {
		return map[string]any{
			"name": name, "limit": l, "tool_call": true,
			"cost": map[string]any{"input": p.Fresh, "output": p.Output, "cache_read": p.Read},
		}
	}
	return map[string]any{
		"model": gptProvider + "/" + gpt, "small_model": gptProvider + "/" + smallGPT, "enabled_providers": []string{gptProvider},
		"provider": map[string]any{gptProvider: map[string]any{
			"name": "Mock OpenAI", "npm": "@ai-sdk/openai-compatible", "env": []string{},
			"options": map[string]any{"apiKey": "mock-key", "baseURL": mockURL + "/v1"},
			"models":  map[string]any{gpt: model("GPT"), otherGPT: model("Other GPT"), smallGPT: model("GPT Mini")},
		}},
	}
}
