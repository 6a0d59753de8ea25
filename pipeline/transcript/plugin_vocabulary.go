package transcript

import "maps"

// ExpandTool is the tool with which the model reads messages that are no longer in its prompt.
const ExpandTool = "ctx_expand"

// SearchTool is the tool with which the model searches earlier messages.
const SearchTool = "ctx_search"

// MemoryTool is the tool with which the model stores facts about the project. NoteTool is the tool with which it notes
// work for later.
const (
	MemoryTool = "ctx_memory"
	NoteTool   = "ctx_note"
)

// pluginTools are tools that plugins and MCP servers bring into any harness.
var pluginTools = map[string]ToolClass{
	"ast_grep_search": {Idempotent: true},
	ExpandTool:        {Shows: true},
	SearchTool:        {Shows: true},
	"aft_outline":     {Tier: 1},
	"aft_zoom":        {Tier: 1},
	"aft_search":      {Tier: 2},

	"lsp_diagnostics":     {Idempotent: true},
	"lsp_symbols":         {Idempotent: true},
	"lsp_find_references": {Idempotent: true},
	"lsp_goto_definition": {Idempotent: true},
	"lsp_prepare_rename":  {Idempotent: true},
}

// withPluginTools returns the tools of a harness together with the tools of plugins.
func withPluginTools(own map[string]ToolClass) map[string]ToolClass {
	all := maps.Clone(pluginTools)
	maps.Copy(all, own)
	return all
}
