package host

import (
	"context"
	"strings"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

// Initialize opens a directory for a client: it reads the configuration anew
// and says what to register.
func (h *Host) Initialize(_ context.Context, c Client, p schema.InitializeParams) (schema.InitializeResult, error) {
	r := blank()
	r.StoreSchema = h.Store.SchemaVersion()
	if p.Harness == "" { // only reads status
		r.Enabled = true
		return r, nil
	}
	if _, err := codecOf(string(p.Harness)); err != nil {
		return r, err
	}
	cfg, warnings := h.LoadConfig(p.Harness, p.Directory)
	h.opened(c, p, cfg, warnings)
	for _, w := range warnings {
		r.Warnings = append(r.Warnings, w.Message)
		h.Log.Warn("configuration", "directory", p.Directory, "key", w.Key, "file", w.File)
	}
	offer(&r, cfg)
	return r, nil
}

func blank() schema.InitializeResult {
	return schema.InitializeResult{
		Hooks: []string{}, Tools: []schema.ToolDefinition{}, Commands: []schema.CommandDefinition{}, Agents: []schema.AgentDefinition{},
	}
}

// Offer is what a host with a store would answer a client of this
// configuration, for one that has none yet.
func Offer(cfg schema.Config) schema.InitializeResult {
	r := blank()
	offer(&r, cfg)
	return r
}

func offer(r *schema.InitializeResult, cfg schema.Config) {
	r.TransformTimeoutMS, r.ResyncTimeoutMS = cfg.TransformTimeoutMS, cfg.ResyncTimeoutMS
	if r.Enabled = cfg.Enabled; !r.Enabled {
		r.Reason = "it is switched off in the configuration (enabled: false)"
		return
	}
	r.Commands = commands
	r.Hooks = append(r.Hooks, schema.MethodEvent)
	if cfg.CtxReduceEnabled {
		r.Hooks = append(r.Hooks, schema.MethodTextComplete, schema.MethodToolAfter)
		r.Tools = append(r.Tools, schema.ToolDefinition{Name: reduceTool, Description: prompt("ctx_reduce.md"), Parameters: reduceParameters})
	}
}

func (h *Host) opened(c Client, p schema.InitializeParams, cfg schema.Config, warnings []config.Warning) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.clients[c] == nil {
		h.clients[c] = &client{harness: p.Harness, opened: map[string][]config.Warning{}}
	}
	h.clients[c].opened[p.Directory] = warnings
	h.configs[directory{p.Harness, p.Directory}] = cfg
}

// TextComplete takes tags off a text that the model wrote in imitation. A text
// without a whole tag keeps its section signs: they are the author's.
func (h *Host) TextComplete(_ context.Context, _ Client, p schema.TextCompleteParams) (schema.TextCompleteResult, error) {
	text := render.StripTags(p.Text)
	if render.HasTag(text) {
		text = render.StripTagsAnywhere(text)
	}
	return schema.TextCompleteResult{Text: strings.Clone(text)}, nil
}
