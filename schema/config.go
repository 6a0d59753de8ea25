package schema

// Config is the configuration of a session's directory: magicctx.jsonc of the
// user, with that of the project over it. A missing key has its default, and
// the host validates against the same tags from which the JSON Schema is generated.
//
// Fields with a bare tag are maps or lists that the file may also give as one
// bare value; the tag names the key that the value then has.
// Values without a default are left out of JSON while they are empty.
// In maps by model the keys are "provider/model", a model id, or "default".
type Config struct {
	// Schema names the JSON Schema of this file, for editors.
	Schema string `json:"$schema,omitempty"`
	// Enabled turns magicctx on.
	Enabled bool `json:"enabled" jsonschema:"default=true"`
	// AutoUpdate allows the harness to install newer versions. User file only.
	AutoUpdate bool `json:"auto_update" jsonschema:"default=true"`
	// TrustedProjects lists directories whose project file may define commands, let the dreamer maintain documents, and name an
	// embedding endpoint in a private network. "~/" is the home directory. User file only.
	TrustedProjects []string `json:"trusted_projects,omitempty"`

	// CtxReduceEnabled offers the ctx_reduce tool to the model. Without it there are no tags and no nudges.
	CtxReduceEnabled bool `json:"ctx_reduce_enabled" jsonschema:"default=true"`
	// CacheTTL is how long the provider keeps a cached prompt, for all models or by model: a number with s, m or h, or bare milliseconds.
	CacheTTL map[string]string `json:"cache_ttl" bare:"default" jsonschema:"oneof_type=string;object,default=5m,pattern=^[0-9]+[smh]?$,example=5m"`
	// ExecuteThresholdPercentage is the share of the window, in percent, from which a pass may free space, for all models or by model: the high-water mark.
	ExecuteThresholdPercentage map[string]float64 `json:"execute_threshold_percentage" bare:"default" jsonschema:"oneof_type=number;object,default=65,minimum=20,maximum=80"`
	// ExecuteThresholdTokens is the same threshold in tokens, by model. It wins over the percentage where the window is known, and counts as 80 % of the window at most.
	ExecuteThresholdTokens map[string]float64 `json:"execute_threshold_tokens,omitempty" bare:"default" jsonschema:"oneof_type=number;object,minimum=5000,maximum=2000000"`
	// LowMarkPercentage is the share of the window, in percent, down to which a pass under pressure frees space. 0 has it chosen from prices and growth.
	LowMarkPercentage float64 `json:"low_mark_percentage" jsonschema:"default=0,minimum=0,maximum=75"`
	// AutoDrop configures what is dropped without being asked, on passes that lose the provider's cache anyway.
	AutoDrop AutoDrop `json:"auto_drop"`
	// ProtectedTags is the number of newest active tags that are not dropped while the provider's cache is alive, unless the next prompt may not fit.
	ProtectedTags int `json:"protected_tags" jsonschema:"default=20,minimum=1,maximum=100"`
	// ClearReasoningAge is the age, in tags, at which reasoning is cleared.
	ClearReasoningAge int `json:"clear_reasoning_age" jsonschema:"default=50,minimum=10"`
	// HistoryBudgetPercentage is the share of the usable window (the window times the execute threshold) for history, from 0 to 1.
	HistoryBudgetPercentage float64 `json:"history_budget_percentage" jsonschema:"default=0.15,minimum=0.05,maximum=0.5"`
	// HistorianTimeoutMS bounds one call of the historian, in milliseconds.
	HistorianTimeoutMS int `json:"historian_timeout_ms" jsonschema:"default=300000,minimum=60000"`
	// CommitClusterTrigger starts the historian after clusters of commits.
	CommitClusterTrigger CommitClusterTrigger `json:"commit_cluster_trigger"`
	// SystemPromptInjection adds the guidance to the system prompt.
	SystemPromptInjection SystemPromptInjection `json:"system_prompt_injection"`
	// SQLite tunes the database. User file only.
	SQLite SQLite `json:"sqlite"`
	// TemporalAwareness marks gaps of more than five minutes, and dates compartments.
	TemporalAwareness bool `json:"temporal_awareness" jsonschema:"default=true"`
	// KeepSubagents keeps the child sessions of hidden agents, for debugging.
	KeepSubagents bool `json:"keep_subagents" jsonschema:"default=false"`
	// CavemanTextCompression shortens old text. It works only where ctx_reduce is off.
	CavemanTextCompression CavemanTextCompression `json:"caveman_text_compression"`
	// Embedding chooses how text becomes vectors for semantic search.
	Embedding Embedding `json:"embedding"`
	// Memory configures what is remembered across sessions.
	Memory Memory `json:"memory"`
	// Historian is the hidden agent that summarises history. It runs unless disabled.
	Historian Historian `json:"historian"`
	// Dreamer is the hidden agent that tends knowledge at night. Without this block it is disabled.
	Dreamer Dreamer `json:"dreamer"`
	// Sidekick is the hidden agent that augments a prompt on request. Without this block it is disabled.
	Sidekick Sidekick `json:"sidekick"`
	// Command defines additional commands by name, over the built-in ones (OpenCode only).
	Command map[string]Command `json:"command,omitempty"`

	// TransformTimeoutMS bounds one pass, in milliseconds.
	TransformTimeoutMS int `json:"transform_timeout_ms" jsonschema:"default=5000,minimum=100,maximum=600000"`
	// ResyncTimeoutMS bounds a pass for which the shim sends everything, in milliseconds.
	ResyncTimeoutMS int `json:"resync_timeout_ms" jsonschema:"default=30000,minimum=100,maximum=600000"`
	// IdleExitMinutes is how long the host outlives its last client. User file only.
	IdleExitMinutes int `json:"idle_exit_minutes" jsonschema:"default=10,minimum=1,maximum=10080"`
}

// AutoDrop configures what is dropped or shortened without being asked. It never causes a bust.
type AutoDrop struct {
	// Duplicates drops all but the newest of identical calls that only read.
	Duplicates bool `json:"duplicates" jsonschema:"default=true"`
	// SupersededWrites shortens what was written to a file that was read or written again later.
	SupersededWrites bool `json:"superseded_writes" jsonschema:"default=true"`
	// OldErrors shortens the arguments of calls that failed; what the error said stays.
	OldErrors bool `json:"old_errors" jsonschema:"default=true"`
	// ErrorSteps is after how many steps of the model an error is old.
	ErrorSteps int `json:"error_steps" jsonschema:"default=4,minimum=1"`
	// TurnProtection is the number of newest steps of the model that these three leave alone.
	TurnProtection int `json:"turn_protection" jsonschema:"default=4,minimum=0"`
	// ProtectedTools are names or patterns (*, ?) of tools that these three leave alone.
	ProtectedTools []string `json:"protected_tools" jsonschema:"default=todowrite,default=todoread,default=task,default=skill,default=question,default=plan_*,default=ctx_*"`
	// ProtectedPaths are patterns (**, *, ?) of files whose calls these three leave alone, and so do the rules that take tool output
	// under pressure, until the next prompt may not fit. They are matched against the path as the tool got it and relative to the project.
	ProtectedPaths []string `json:"protected_paths,omitempty"`
}

// CommitClusterTrigger starts the historian after clusters of commits.
type CommitClusterTrigger struct {
	// Enabled turns the trigger on.
	Enabled bool `json:"enabled" jsonschema:"default=true"`
	// MinClusters is the number of clusters that fires it.
	MinClusters int `json:"min_clusters" jsonschema:"default=3,minimum=1"`
}

// SystemPromptInjection adds the guidance to the system prompt.
type SystemPromptInjection struct {
	// Enabled turns the injection on.
	Enabled bool `json:"enabled" jsonschema:"default=true"`
	// SkipSignatures are texts; an agent whose prompt contains one gets no guidance.
	SkipSignatures []string `json:"skip_signatures" jsonschema:"default=<!-- magic-context: skip -->"`
}

// SQLite tunes the database.
type SQLite struct {
	// CacheSizeMB is the page cache of a connection, in MiB.
	CacheSizeMB int `json:"cache_size_mb" jsonschema:"default=64,minimum=2,maximum=2048"`
	// MmapSizeMB is how much of the file is mapped into memory, in MiB.
	MmapSizeMB int `json:"mmap_size_mb" jsonschema:"default=0,minimum=0,maximum=8192"`
}

// CavemanTextCompression shortens old text.
type CavemanTextCompression struct {
	// Enabled turns the compression on.
	Enabled bool `json:"enabled" jsonschema:"default=false"`
	// MinChars is the size, in bytes, below which text is left alone.
	MinChars int `json:"min_chars" jsonschema:"default=500,minimum=100,maximum=10000"`
}

// Embedding chooses how text becomes vectors.
type Embedding struct {
	// Provider computes the vectors. "openai-compatible" needs endpoint and model.
	Provider string `json:"provider" jsonschema:"default=local,enum=local,enum=openai-compatible,enum=off"`
	// Model is the embedding model; for the local provider it has a default.
	Model string `json:"model,omitempty"`
	// Endpoint is the base address of an OpenAI-compatible service.
	Endpoint string `json:"endpoint,omitempty"`
	// APIKey authorises requests to the endpoint. In the user file it may be "{env:NAME}" or "{file:PATH}".
	APIKey string `json:"api_key,omitempty"`
	// InputType is passed to the service; it is part of the identity of a vector.
	InputType string `json:"input_type,omitempty"`
	// Truncate is passed to the service.
	Truncate string `json:"truncate,omitempty"`
	// MaxInputTokens is the longest input of the model; chunks use 90 % of it.
	MaxInputTokens int `json:"max_input_tokens" jsonschema:"default=512,minimum=1"`
}

// Memory configures what is remembered across sessions.
type Memory struct {
	// Enabled shows memories to the model.
	Enabled bool `json:"enabled" jsonschema:"default=true"`
	// InjectionBudgetTokens bounds the memories in the prompt, in tokens.
	InjectionBudgetTokens int `json:"injection_budget_tokens" jsonschema:"default=4000,minimum=500,maximum=20000"`
	// AutoPromote turns the historian's facts into memories.
	AutoPromote bool `json:"auto_promote" jsonschema:"default=true"`
	// RetrievalCountPromotionThreshold is accepted for older files, and unused.
	RetrievalCountPromotionThreshold int `json:"retrieval_count_promotion_threshold" jsonschema:"default=3,minimum=1"`
	// AutoSearch hints at stored knowledge that fits a new prompt.
	AutoSearch AutoSearch `json:"auto_search"`
	// GitCommitIndexing makes commit messages searchable.
	GitCommitIndexing GitCommitIndexing `json:"git_commit_indexing"`
}

// AutoSearch hints at stored knowledge that fits a new prompt. It works with memory disabled, too.
type AutoSearch struct {
	// Enabled turns the hints on.
	Enabled bool `json:"enabled" jsonschema:"default=true"`
	// ScoreThreshold is the least score of a hit, from 0 to 1.
	ScoreThreshold float64 `json:"score_threshold" jsonschema:"default=0.6,minimum=0.3,maximum=0.95"`
	// MinPromptChars is the shortest prompt that is searched for, in UTF-16 units.
	MinPromptChars int `json:"min_prompt_chars" jsonschema:"default=20,minimum=5,maximum=500"`
}

// GitCommitIndexing makes commit messages searchable.
type GitCommitIndexing struct {
	// Enabled turns the index on.
	Enabled bool `json:"enabled" jsonschema:"default=false"`
	// SinceDays is the age of the oldest commit, in days.
	SinceDays int `json:"since_days" jsonschema:"default=365,minimum=7,maximum=3650"`
	// MaxCommits bounds the number of commits.
	MaxCommits int `json:"max_commits" jsonschema:"default=2000,minimum=100,maximum=20000"`
}

// Agent is what the blocks of all hidden agents share. A block with any bad
// value is ignored as a whole: with a wrong model it may be expensive.
// A project file may not set prompt, permission, tools and system_prompt.
type Agent struct {
	// Disable turns the agent off.
	Disable bool `json:"disable" jsonschema:"default=false"`
	// Model is "provider/model"; empty means the session's.
	Model string `json:"model,omitempty"`
	// FallbackModels are tried in order when the model fails.
	FallbackModels []string `json:"fallback_models,omitempty" bare:"list" jsonschema:"oneof_type=string;array"`
	// Variant is a model variant of the harness.
	Variant string `json:"variant,omitempty"`
	// Temperature is the sampling temperature.
	Temperature *float64 `json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2"`
	// TopP is the nucleus sampling mass.
	TopP *float64 `json:"top_p,omitempty" jsonschema:"minimum=0,maximum=1"`
	// MaxTokens bounds the answer, in tokens; 0 leaves it to the harness.
	MaxTokens int `json:"maxTokens" jsonschema:"minimum=0"`
	// MaxSteps bounds the tool steps of a run; 0 keeps the agent's own cap.
	MaxSteps int `json:"maxSteps" jsonschema:"minimum=0"`
	// Prompt replaces the agent's prompt. User file only.
	Prompt string `json:"prompt,omitempty"`
	// Description is shown where the harness lists agents.
	Description string `json:"description,omitempty"`
	// Mode is the harness's kind of agent.
	Mode string `json:"mode,omitempty" jsonschema:"enum=subagent,enum=primary,enum=all"`
	// Color marks the agent in the harness.
	Color string `json:"color,omitempty" jsonschema:"pattern=^#[0-9a-fA-F]{6}$,example=#7aa2f7"`
	// Tools turns single tools on or off. User file only.
	Tools map[string]bool `json:"tools,omitempty"`
	// Permission goes over the agent's own allow-list. User file only.
	Permission Permission `json:"permission"`
}

// Permission says what an agent may do, in the words of OpenCode. Empty means not set.
type Permission struct {
	// Edit is about changing files.
	Edit string `json:"edit,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
	// Bash is about shell commands, for all or by pattern.
	Bash map[string]string `json:"bash,omitempty" bare:"*" jsonschema:"oneof_type=string;object,enum=ask,enum=allow,enum=deny"`
	// WebFetch is about reading the web.
	WebFetch string `json:"webfetch,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
	// DoomLoop is about repeating the same call.
	DoomLoop string `json:"doom_loop,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
	// ExternalDirectory is about files outside the project.
	ExternalDirectory string `json:"external_directory,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
}

// Historian configures the historian.
type Historian struct {
	Agent
	// TwoPass lets an editor revise each summary.
	TwoPass bool `json:"two_pass" jsonschema:"default=false"`
	// ThinkingLevel is the model's effort (Pi only).
	ThinkingLevel string `json:"thinking_level,omitempty" jsonschema:"enum=off,enum=minimal,enum=low,enum=medium,enum=high,enum=xhigh"`
}

// Dreamer configures the dreamer.
type Dreamer struct {
	Agent
	// Schedule is the time of day in which it may run, local time, also across midnight. Empty means on request only.
	Schedule string `json:"schedule" jsonschema:"default=02:00-06:00,pattern=^(([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9])?$,example=02:00-06:00"`
	// MaxRuntimeMinutes bounds one night, in minutes.
	MaxRuntimeMinutes int `json:"max_runtime_minutes" jsonschema:"default=120,minimum=10"`
	// Tasks are run in this order.
	Tasks []string `json:"tasks" jsonschema:"default=consolidate,default=verify,default=archive-stale,default=improve,enum=consolidate,enum=verify,enum=archive-stale,enum=improve,enum=maintain-docs"`
	// TaskTimeoutMinutes bounds one task, in minutes.
	TaskTimeoutMinutes int `json:"task_timeout_minutes" jsonschema:"default=20,minimum=5"`
	// InjectDocs shows the project's maintained documents to the model, also while the dreamer is disabled.
	InjectDocs bool `json:"inject_docs" jsonschema:"default=true"`
	// UserMemories promotes what is observed about the user.
	UserMemories UserMemories `json:"user_memories"`
	// PinKeyFiles keeps often read files in the prompt.
	PinKeyFiles PinKeyFiles `json:"pin_key_files"`
}

// UserMemories promotes what is observed about the user.
type UserMemories struct {
	// Enabled turns the promotion on.
	Enabled bool `json:"enabled" jsonschema:"default=true"`
	// PromotionThreshold is the number of observations that make a memory.
	PromotionThreshold int `json:"promotion_threshold" jsonschema:"default=3,minimum=2,maximum=20"`
}

// PinKeyFiles keeps often read files in the prompt.
type PinKeyFiles struct {
	// Enabled turns the pinning on.
	Enabled bool `json:"enabled" jsonschema:"default=false"`
	// TokenBudget bounds the pinned files, in tokens.
	TokenBudget int `json:"token_budget" jsonschema:"default=10000,minimum=2000,maximum=30000"`
	// MinReads is the number of reads that makes a file a key file.
	MinReads int `json:"min_reads" jsonschema:"default=4,minimum=2,maximum=20"`
}

// Sidekick configures the sidekick.
type Sidekick struct {
	Agent
	// TimeoutMS bounds one run, in milliseconds.
	TimeoutMS int `json:"timeout_ms" jsonschema:"default=30000,minimum=1"`
	// SystemPrompt replaces the agent's system prompt. User file only.
	SystemPrompt string `json:"system_prompt,omitempty"`
	// ThinkingLevel is the model's effort (Pi only).
	ThinkingLevel string `json:"thinking_level,omitempty" jsonschema:"enum=off,enum=minimal,enum=low,enum=medium,enum=high,enum=xhigh"`
}

// Command is a command of the user's own.
type Command struct {
	// Template is the prompt that the command sends.
	Template string `json:"template" jsonschema:"required,minLength=1"`
	// Description is shown in the list of commands.
	Description string `json:"description,omitempty"`
	// Agent runs the command; empty means the current one.
	Agent string `json:"agent,omitempty"`
	// Model is "provider/model"; empty means the session's.
	Model string `json:"model,omitempty"`
	// Subtask runs the command in a child session.
	Subtask bool `json:"subtask" jsonschema:"default=false"`
}
