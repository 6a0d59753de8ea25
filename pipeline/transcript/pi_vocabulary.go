package transcript

import "regexp"

var piVocabulary = Vocabulary{
	Compaction: CompactionVocabulary{LeastKept: 20_000, MostKept: 20_000},
	Tools: withPluginTools(map[string]ToolClass{
		"read":  {Idempotent: true, File: UsesFile, Tier: 1},
		"edit":  {File: UsesFile, Tier: 2},
		"write": {File: WritesFile, Tier: 2},
		"grep":  {Idempotent: true, Tier: 2},
		"find":  {Idempotent: true, Tier: 2},
		"ls":    {Idempotent: true},

		"bash":     {Shows: true},
		"subagent": {Tier: 1},
	}),
	System: SystemVocabulary{
		// Pi has this line only in 0.74.
		Date:       regexp.MustCompile(`Current date: .+`),
		ComesFirst: true,
	},
	Paths: Paths{
		AnswerProvider: "/message/provider", Usage: "/message/usage",
		Message: "/message", Results: "/results",
	},
}
