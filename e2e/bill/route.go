package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/schema"
)

// A billed model is a model with which OpenCode can play the story. It has prices, and a route, which says how its
// provider caches.
type billed struct {
	// flag is the value that selects the model on the command line.
	flag  string
	route route.Route
	// model is "provider/model". other is a model with the same prices, to which a scene can switch.
	model, other string
	// prices are in $ per million tokens. OpenCode is told the same prices.
	prices schema.Price
	// share is the price of reading as a share of the input price, if it is not the usual one.
	share float64
	// config returns OpenCode's configuration of the provider. It is nil if opencodetest already has
	// the model.
	config func(mockURL string, l opencodetest.Limits, p schema.Price) map[string]any
	// binds is true if the model thinks in every step, and binds its thinking to the prompt before it.
	binds bool
}

// The models differ in the way their providers cache. Fresh tokens cost the same everywhere, so that
// the bills can be compared.
var (
	byAnthropic = billed{flag: "anthropic", route: route.Named("anthropic"), model: opencodetest.ClaudeModel, other: opencodetest.OtherClaudeModel, prices: prices}
	byBinding   = billed{route: route.Named("anthropic"), model: opencodetest.BindingModel, other: opencodetest.OtherBindingModel, prices: prices, binds: true}
	byOpenAI    = billed{
		flag: "openai", route: route.Named("openai"), model: gptProvider + "/" + gpt, other: gptProvider + "/" + otherGPT, prices: gptPrices, config: openaiConfig,
	}
)

// magicctx learns the route from the model's id, as it would behind a gateway.
const (
	gptProvider, gpt, otherGPT, smallGPT = "ledger", "gpt-5.2", "gpt-5.1", "gpt-5.2-mini"
)

var gptPrices = schema.Price{Fresh: 3, Write: 3, Read: 0.3, Output: 15}

// has reports whether the requests to the model with this id are on the bill. Titles come from another model.
func (b billed) has(id string) bool {
	return id == modelID(b.model) || id == modelID(b.other)
}

// modelID returns the id of a model that is named "provider/id".
func modelID(model string) string {
	_, id, _ := strings.Cut(model, "/")
	return id
}

// usualReads is the price of reading a token from the cache, as a share of the input price. Some models have 0.05 or
// 0.025.
const usualReads = 0.1

// reading returns the model with another price of reading, as a share of its input price.
func (b billed) reading(share float64) billed {
	b.share, b.prices.Read = share, share*b.prices.Fresh
	return b
}

// reads returns the price of reading as a share of the input price.
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

// openaiConfig describes a provider of OpenAI's dialect to OpenCode. Like the real catalogue for models
// without a fee for cache writes, it names no price of writing.
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
