package transcript

// openCode2Vocabulary is the vocabulary of OpenCode 2, which has no todo tool. A new date is a new message of
// OpenCode and leaves the system prompt unchanged, so the host need not replace the date.
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
