package transcript

// openCode2Vocabulary is the vocabulary of OpenCode 2. It has no todo tool. When the date changes, OpenCode 2 adds a
// message and does not change the system prompt, so the host need not replace the date.
var openCode2Vocabulary = Vocabulary{
	Compaction: CompactionVocabulary{LeastKept: 2000, MostKept: 15_000},
	Tools: withPluginTools(map[string]ToolClass{
		"read":     {Idempotent: true, File: UsesFile, Tier: 1},
		"edit":     {File: UsesFile, Tier: 2},
		"write":    {File: WritesFile, Tier: 2},
		"patch":    {File: UsesFile, Tier: 2},
		"grep":     {Idempotent: true, Tier: 2},
		"glob":     {Idempotent: true, Tier: 2},
		"webfetch": {Idempotent: true},

		"shell":    {Shows: true},
		"execute":  {Shows: true},
		"subagent": {Tier: 1},
	}),
	Paths: Paths{
		AnswerProvider: "/info/providerID", Usage: "/info/tokens",
		Message: "/message", Results: "/results",
	},
}
