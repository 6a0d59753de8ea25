package transcript

import "maps"

const ExpandTool = "ctx_expand"

const SearchTool = "ctx_search"

// With MemoryTool, the model stores facts about the project. With NoteTool, it stores notes about work for later.
const (
	MemoryTool = "ctx_memory"
	NoteTool   = "ctx_note"
)

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

func withPluginTools(own map[string]ToolClass) map[string]ToolClass {
	all := maps.Clone(pluginTools)
	maps.Copy(all, own)
	return all
}
