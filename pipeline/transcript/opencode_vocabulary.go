package transcript

import "regexp"

// openCodeVocabulary knows OpenCode 1.18, and tools of plugins that are frequent in it.
var openCodeVocabulary = Vocabulary{
	Tools: map[string]ToolClass{
		"read":     {Idempotent: true, File: UsesFile, Tier: 1},
		"edit":     {File: UsesFile, Tier: 2},
		"write":    {File: WritesFile, Tier: 2},
		"grep":     {Idempotent: true, Tier: 2},
		"glob":     {Idempotent: true, Tier: 2},
		"list":     {Idempotent: true},
		"webfetch": {Idempotent: true},

		"multiedit":   {File: UsesFile},
		"apply_patch": {Tier: 2},
		"todowrite":   {Tier: 1},
		"task":        {Tier: 1},

		"ast_grep_search": {Idempotent: true},
		"aft_outline":     {Tier: 1}, "aft_zoom": {Tier: 1}, "aft_search": {Tier: 2},
		"lsp_diagnostics": {Idempotent: true}, "lsp_symbols": {Idempotent: true}, "lsp_find_references": {Idempotent: true},
		"lsp_goto_definition": {Idempotent: true}, "lsp_prepare_rename": {Idempotent: true},
	},
	TodoTool:       "todowrite",
	SendsEmptyText: true,
	System: SystemVocabulary{
		Date: regexp.MustCompile(`Today's date: .+`),
		OwnPrompts: []string{
			"You are a title generator.",
			"Summarize what was done in this conversation.",
			"You are a context summarization agent.",
		},
	},
	Paths: Paths{
		UserProvider: "/info/model/providerID", AnswerProvider: "/info/providerID", Tools: "/info/tools", Usage: "/info/tokens",
		EventMessage: "/properties",
	},
}
