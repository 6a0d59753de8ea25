package host

import (
	"context"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/schema"
)

// Initialize opens a directory for a client: it reads the configuration anew
// and says what to register.
func (h *Host) Initialize(_ context.Context, c Client, p schema.InitializeParams) (schema.InitializeResult, error) {
	r := schema.InitializeResult{StoreSchema: h.Store.SchemaVersion(), Hooks: []string{}, Tools: []schema.ToolDefinition{},
		Commands: []schema.CommandDefinition{}, Agents: []schema.AgentDefinition{}}
	if p.Harness == "" { // only reads status
		r.Enabled = true
		return r, nil
	}
	if _, err := codecOf(string(p.Harness)); err != nil {
		return r, err
	}
	cfg, warnings := h.LoadConfig(p.Harness, p.Directory)
	h.mu.Lock()
	h.clients[c] = &client{harness: p.Harness}
	h.configs[directory{p.Harness, p.Directory}] = cfg
	h.mu.Unlock()
	for _, w := range warnings {
		r.Warnings = append(r.Warnings, w.Message)
		h.Log.Warn("configuration", "directory", p.Directory, "key", w.Key, "file", w.File)
	}
	r.TransformTimeoutMS, r.ResyncTimeoutMS = cfg.TransformTimeoutMS, cfg.ResyncTimeoutMS
	if r.Enabled = cfg.Enabled; !r.Enabled {
		r.Reason = "it is switched off in the configuration (enabled: false)"
		return r, nil
	}
	r.Commands = commands
	r.Hooks = append(r.Hooks, schema.MethodEvent)
	if cfg.CtxReduceEnabled {
		r.Hooks = append(r.Hooks, schema.MethodTextComplete)
		r.Tools = append(r.Tools, schema.ToolDefinition{Name: reduceTool, Description: prompt("ctx_reduce.md"), Parameters: reduceParameters})
	}
	return r, nil
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
