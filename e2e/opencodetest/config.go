package opencodetest

import (
	"cmp"
	"maps"
)

// The ids of the first three models make OpenCode treat them as Claude models and set cache breakpoints for them. The
// ids must contain a version. The version 5.0 tells magicctx that the model does not bind its thinking. For a Claude
// model without a version, magicctx would assume that it does.
const (
	AnthropicProvider = "mock"
	OpenAIProvider    = "mockoai"

	ClaudeModel      = AnthropicProvider + "/claude-mock-5-0"
	OtherClaudeModel = AnthropicProvider + "/claude-other-5-0"
	// SmallModel writes the titles.
	SmallModel = AnthropicProvider + "/claude-mini-5-0"
	// BindingModel and OtherBindingModel bind thinking. OpenCode knows them by their ids.
	BindingModel      = AnthropicProvider + "/claude-fable-5-1"
	OtherBindingModel = AnthropicProvider + "/claude-fable-5-2"

	GPTModel      = OpenAIProvider + "/gpt-mock"
	SmallGPTModel = OpenAIProvider + "/gpt-mini"
)

type Limits struct {
	Context int `json:"context"`
	Output  int `json:"output"`
}

var DefaultLimits = Limits{Context: 200_000, Output: 8_192}

type object = map[string]any

func config(mockURL string, o Options) object {
	cost := object{"input": 3, "output": 15, "cache_read": cmp.Or(o.ReadPrice, 0.3), "cache_write": 3.75} // $ per million tokens
	if o.FlatPrices {
		cost = object{"input": 3, "output": 15, "cache_read": 3, "cache_write": 3}
	}
	model := func(id, name string, reasoning bool) object {
		limits := cmp.Or(o.LimitsOf[id], o.Limits, DefaultLimits)
		return object{
			"name": name, "limit": limits, "reasoning": reasoning, "tool_call": true, "attachment": true,
			"cost":       cost,
			"modalities": object{"input": []string{"text", "image", "pdf"}, "output": []string{"text"}},
		}
	}
	provider := func(name, npm string, models object) object {
		return object{
			"name": name, "npm": npm, "env": []string{}, "models": models,
			"options": object{"apiKey": "mock-key", "baseURL": mockURL + "/v1"},
		}
	}
	plugins := o.Plugins
	if plugins == nil {
		plugins = []any{}
	}
	c := object{
		"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled",
		"model": ClaudeModel, "small_model": SmallModel,
		"enabled_providers": []string{AnthropicProvider, OpenAIProvider},
		"provider": object{
			AnthropicProvider: provider("Mock Anthropic", "@ai-sdk/anthropic", object{
				"claude-mock-5-0": model(ClaudeModel, cmp.Or(o.ModelName, "Claude Mock"), true), "claude-other-5-0": model(OtherClaudeModel, "Claude Other", true), "claude-mini-5-0": model(SmallModel, "Claude Mini", false),
				"claude-fable-5-1": model(BindingModel, "Claude Fable 5.1", true), "claude-fable-5-2": model(OtherBindingModel, "Claude Fable 5.2", true),
			}),
			OpenAIProvider: provider("Mock OpenAI", "@ai-sdk/openai-compatible", object{
				"gpt-mock": model(GPTModel, "GPT Mock", false), "gpt-mini": model(SmallGPTModel, "GPT Mini", false),
			}),
		},
		"permission": object{"*": "allow"},
		// Language servers would add diagnostics of this machine to tool outputs.
		"lsp": false, "formatter": false,
		"plugin": plugins,
	}
	maps.Copy(c, o.Config)
	return c
}
