package host

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/agent"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/tool"
	"github.com/magicctx/magicctx-host/schema"
)

// Initialize reads a directory's configuration again, and tells the client which tools, commands and agents to add.
func (h *Host) Initialize(ctx context.Context, c client.Client, p schema.InitializeParams) (schema.InitializeResult, error) {
	r := blank()
	r.StoreSchema = h.Store.SchemaVersion()
	if p.Harness == "" { // the client only wants to read status
		r.Enabled = true
		return r, nil
	}
	if _, err := client.CodecOf(string(p.Harness)); err != nil {
		return r, err
	}
	cfg, warnings := h.LoadConfig(p.Harness, p.Directory)
	competitor := ""
	if cfg.Enabled && h.Conflicts != nil {
		var found []config.Warning
		found, competitor = h.Conflicts(ctx, p.Harness, p.Directory)
		warnings = append(warnings, found...)
		cfg.Enabled = competitor == ""
	}
	h.clients.Open(c, p, cfg, warnings)
	for _, w := range warnings {
		r.Warnings = append(r.Warnings, w.Message)
		h.Log.Warn("configuration", "directory", p.Directory, "key", w.Key, "file", w.File)
	}
	h.background.Go(func() { h.sessions.FindProject(h.background.Lifetime(), p.Directory) })
	if h.Markers[p.Harness] != nil {
		h.background.Go(func() { h.markers.CheckAll(h.background.Lifetime(), p.Harness, cfg.Enabled && cfg.CompactionMarkers) })
	}
	offer(&r, cfg)
	switch {
	case competitor != "":
		r.Reason = competitor
	case !r.Enabled && h.DisabledAt != nil:
		r.Reason = SwitchedOff(h.DisabledAt(p.Harness, p.Directory))
	}
	return r, nil
}

// `place` is the file:line of the setting.
func SwitchedOff(place string) string {
	return fmt.Sprintf("it is switched off in %s (enabled: false)", place)
}

func blank() schema.InitializeResult {
	return schema.InitializeResult{
		Hooks: []string{}, Tools: []schema.ToolDefinition{}, Commands: []schema.CommandDefinition{}, Agents: []schema.AgentDefinition{},
	}
}

// While the Standby has no store, it answers with Offer.
func Offer(cfg schema.Config) schema.InitializeResult {
	r := blank()
	offer(&r, cfg)
	return r
}

func offer(r *schema.InitializeResult, cfg schema.Config) {
	r.TransformTimeoutMS, r.ResyncTimeoutMS = cfg.TransformTimeoutMS, cfg.ResyncTimeoutMS
	if r.Enabled = cfg.Enabled; !r.Enabled {
		r.Reason = SwitchedOff("the configuration")
		return
	}
	r.Commands = tool.Commands()
	r.Hooks = append(r.Hooks, schema.MethodEvent)
	r.Tools = tool.Definitions(cfg)
	r.Agents = agent.Definitions(cfg)
	if cfg.CtxReduceEnabled {
		r.Hooks = append(r.Hooks, schema.MethodTextComplete)
	}
}
