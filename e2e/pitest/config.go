package pitest

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/json"
)

type object = map[string]any

// `control` is an extension for the tests. In rpc mode, some actions are possible only from an extension. Its commands
// perform these actions.
//
//go:embed control.js
var control []byte

// The models have the same names as in opencodetest, so that a test can use both harnesses. sendSessionAffinityHeaders
// makes Pi send the session's id in the header X-Session-Affinity.
func models(o Options) object {
	cost := object{"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75} // $ per million tokens
	if o.FlatPrices {
		cost = object{"input": 3, "output": 15, "cacheRead": 3, "cacheWrite": 3}
	}
	model := func(provider, id, name string, reasoning bool) object {
		limits := cmp.Or(o.LimitsOf[provider+"/"+id], o.Limits, opencodetest.DefaultLimits)
		return object{
			"id": id, "name": name, "reasoning": reasoning, "input": []string{"text", "image"},
			"contextWindow": limits.Context, "maxTokens": limits.Output, "cost": cost,
			"compat": object{"sendSessionAffinityHeaders": true},
		}
	}
	provider := func(base, api string, models ...object) object {
		return object{"baseUrl": base, "api": api, "apiKey": "mock-key", "models": models}
	}
	anthropic, openai := opencodetest.AnthropicProvider, opencodetest.OpenAIProvider
	return object{"providers": object{
		anthropic: provider(o.MockURL, "anthropic-messages",
			model(anthropic, "claude-mock-5-0", "Claude Mock", true), model(anthropic, "claude-mini-5-0", "Claude Mini", false),
			model(anthropic, "claude-fable-5-1", "Claude Fable 5.1", true), model(anthropic, "claude-fable-5-2", "Claude Fable 5.2", true)),
		openai: provider(o.MockURL+"/v1", "openai-completions",
			model(openai, "gpt-mock", "GPT Mock", false), model(openai, "gpt-mini", "GPT Mini", false)),
	}}
}

// With these settings, Pi repeats a failed request almost at once, and loads only the extensions that the test names.
func settings(o Options) object {
	extensions := slices.Clone(o.Extensions)
	if extensions == nil {
		extensions = []string{}
	}
	s := object{
		"quietStartup": true, "extensions": extensions,
		"retry": object{"baseDelayMs": 20, "maxRetries": 2},
	}
	maps.Copy(s, o.Settings)
	return s
}

func AgentDir(h *opencodetest.Home) string { return filepath.Join(h.Root, ".pi", "agent") }

func controlPath(h *opencodetest.Home) string { return filepath.Join(h.Root, "pitest", "control.js") }

func (o Options) configure() ([]string, error) {
	agent := AgentDir(o.Home)
	for _, dir := range []string{agent, filepath.Dir(controlPath(o.Home))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("configure pi: %w", err)
		}
	}
	files := map[string]any{filepath.Join(agent, "models.json"): models(o)}
	if !o.KeepSettings {
		files[filepath.Join(agent, "settings.json")] = settings(o)
	}
	for path, content := range files {
		raw, err := json.MarshalIndent(content)
		if err != nil {
			return nil, fmt.Errorf("configure pi: encode %s: %w", filepath.Base(path), err)
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			return nil, fmt.Errorf("configure pi: %w", err)
		}
	}
	if err := os.WriteFile(controlPath(o.Home), control, 0o600); err != nil {
		return nil, fmt.Errorf("configure pi: %w", err)
	}
	env := o.Home.Env(o.Project, "PI_CODING_AGENT_DIR="+agent, "PI_OFFLINE=1", "PI_SKIP_VERSION_CHECK=1", "PI_TELEMETRY=0")
	return append(env, o.Env...), nil
}
