package transcript

import "regexp"

// openCodeVocabulary is the vocabulary of OpenCode 1.18.
var openCodeVocabulary = Vocabulary{
	Compaction: CompactionVocabulary{LeastKept: 2000, MostKept: 15_000},
	Tools: withPluginTools(map[string]ToolClass{
		"read":     {Idempotent: true, File: UsesFile, Tier: 1},
		"edit":     {File: UsesFile, Tier: 2},
		"write":    {File: WritesFile, Tier: 2},
		"grep":     {Idempotent: true, Tier: 2},
		"glob":     {Idempotent: true, Tier: 2},
		"list":     {Idempotent: true},
		"webfetch": {Idempotent: true},

		"bash":        {Shows: true},
		"multiedit":   {File: UsesFile},
		"apply_patch": {File: UsesFile, Tier: 2},
		"todowrite":   {Tier: 1},
		"task":        {Tier: 1},
	}),
	TodoTool:       "todowrite",
	StoresByTime:   true,
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
