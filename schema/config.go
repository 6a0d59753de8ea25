package schema

// Config is the configuration of a session's directory: the user's magicctx.jsonc, overridden by the project's. A
// missing key has its default. The JSON Schema is generated from the tags of this type, and the host validates files
// against the same tags.
//
// If a map or a list has a bare tag, a user may also write a single value for it. For a map, the tag names the key
// under which the value is stored: `"cache_ttl": "1h"` means `{"default": "1h"}`. When a Config is written as JSON,
// empty values without a default are left out. In a map that holds a value for each model, a key is "provider/model", a
// model id, or "default".
//
// The jsonschema tag holds a list of rules: default, enum and example (each may be repeated), minimum, maximum,
// minLength, pattern, required, and oneof_type. oneof_type lists the JSON types that a key may have, for example a
// string or an object. A number without maximum is limited to 32 bits. With check:"pattern", the values must be valid
// patterns of names or paths. With check:"span", the value is a span of time such as "02:00-06:00", and its two ends
// must differ.
//
// A project's file comes with its repository, and the user may have cloned that repository from a stranger. So the
// project tag of a key says what a project's file may do with the key. If an object has no project tag, each of its
// keys has one:
//
//	never    nothing: the key belongs to the user's file
//	trusted  nothing, unless trusted_projects lists the project
//	any      everything: the key is a matter of taste
//	off, on  switch it off, or on
//	less     set a number that is not above the user's
//	more     set a number that is not below the user's
//	add      add values to the user's list
//
// A project in trusted_projects may set every key except those with "never".
//
// A key with the tag effect:"none" is accepted and checked, but no code reads it yet. Such keys are accepted because
// users have files for later versions, or for the original plugin, that contain them. A user who sets such a key gets a
// warning.
type Config struct {
	// Schema names the JSON Schema of this file, for editors.
	Schema string `json:"$schema,omitempty" project:"any"`
	// Enabled turns magicctx on.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// AutoUpdate allows the harness to install newer versions of magicctx. User file only.
	AutoUpdate bool `json:"auto_update" jsonschema:"default=true" project:"never" effect:"none"`
	// TrustedProjects lists directories. The project file in a listed directory may define commands, choose models, and
	// set any other key that is not reserved for your own file. "~/" is the home directory. User file only.
	TrustedProjects []string `json:"trusted_projects,omitempty" project:"never"`

	// CtxReduceEnabled offers the ctx_reduce tool to the model. Without the tool, there are no tags and no reminders.
	CtxReduceEnabled bool `json:"ctx_reduce_enabled" jsonschema:"default=true" project:"off"`
	// CacheTTL is how long the provider keeps an unused prompt in its cache, for example "5m", for all models or by
	// model. A number without a unit is in milliseconds. "auto" starts with the documented value, and adjusts it to the
	// usage that the provider reports.
	CacheTTL map[string]string `json:"cache_ttl" bare:"default" jsonschema:"oneof_type=string;object,default=auto,pattern=^(auto|[0-9]+[smh]?)$,example=1h,example=auto" project:"trusted"`
	// PriceCliff is the prompt size in tokens above which the provider charges a multiple of its price for the whole
	// request, for all models or by model. For example, "272000x2" means that a prompt of more than 272,000 tokens
	// costs twice as much. "none" means one price for all sizes. "auto" uses the known value for the model.
	PriceCliff map[string]string `json:"price_cliff" bare:"default" jsonschema:"oneof_type=string;object,default=auto,pattern=^(auto|none|[1-9][0-9]*x[1-9][0-9]?([.][0-9]+)?)$,example=272000x2,example=auto,example=none" project:"trusted"`
	// PreservedThinking says whether the provider binds thinking to everything before it, for all models or by model.
	// "auto" decides by the model's id. With "on", a request omits thinking if anything before the thinking has
	// changed. With "off", thinking stays.
	PreservedThinking map[string]string `json:"preserved_thinking" bare:"default" jsonschema:"oneof_type=string;object,default=auto,pattern=^(auto|on|off)$,example=auto,example=on,example=off" project:"trusted"`
	// ExecuteThresholdPercentage is the high mark, for all models or by model: once the prompt fills this share of the
	// window, in percent, magicctx may free space.
	ExecuteThresholdPercentage map[string]float64 `json:"execute_threshold_percentage" bare:"default" jsonschema:"oneof_type=number;object,default=65,minimum=20,maximum=80" project:"trusted"`
	// ExecuteThresholdTokens is the high mark in tokens, by model. It overrides the percentage if the window is known,
	// but it is capped at 80 % of the window.
	ExecuteThresholdTokens map[string]float64 `json:"execute_threshold_tokens,omitempty" bare:"default" jsonschema:"oneof_type=number;object,minimum=5000,maximum=2000000" project:"trusted"`
	// LowMarkPercentage is the share of the window, in percent, down to which magicctx frees space under pressure. With
	// 0, the host chooses it from the prices and the growth of the prompt.
	LowMarkPercentage float64 `json:"low_mark_percentage" jsonschema:"default=0,minimum=0,maximum=75" project:"trusted"`
	// Spending is the choice between money and memory: with "frugal" and "balanced", magicctx also removes old content
	// when that saves money, long before the window is full. "balanced" keeps more of the recent session word for word.
	// With "generous", saving money is no reason to remove anything.
	Spending Spending `json:"spending" jsonschema:"default=balanced,enum=frugal,enum=balanced,enum=generous" project:"trusted"`
	// AutoDrop configures which content is dropped although the model has not asked for it. Such content is dropped
	// only on requests that lose the provider's cache anyway.
	AutoDrop AutoDrop `json:"auto_drop"`
	// ProtectedTags is the number of newest tags that are not dropped while the provider's cache is alive. If the next
	// prompt might not fit, even their tool output is dropped.
	ProtectedTags int `json:"protected_tags" jsonschema:"default=20,minimum=1,maximum=100" project:"trusted"`
	// ClearReasoningAge is the age at which reasoning is removed, as a number of newer tags.
	ClearReasoningAge int `json:"clear_reasoning_age" jsonschema:"default=50,minimum=10" project:"trusted"`
	// HistoryBudgetPercentage is the share, in percent, of the usable window (the window times the execute threshold)
	// that summaries may fill.
	HistoryBudgetPercentage float64 `json:"history_budget_percentage" jsonschema:"default=15,minimum=5,maximum=50" project:"less"`
	// ProjectDocs configures the documents of the project in the prompt.
	ProjectDocs ProjectDocs `json:"project_docs"`
	// HistorianTimeoutMS bounds one call of the historian, in milliseconds.
	HistorianTimeoutMS int `json:"historian_timeout_ms" jsonschema:"default=300000,minimum=60000" project:"trusted"`
	// CommitClusterTrigger starts the historian after clusters of commits.
	CommitClusterTrigger CommitClusterTrigger `json:"commit_cluster_trigger"`
	// CompactionMarkers keeps OpenCode's message array short in long sessions. The host writes a marker into OpenCode's
	// database, as OpenCode's own compaction does, and OpenCode then leaves out the messages that are summarised. Only
	// OpenCode 1.18.33 is supported. If you switch this off, the markers are removed.
	CompactionMarkers bool `json:"compaction_markers" jsonschema:"default=false" project:"never"`
	// SystemPromptInjection adds the guidance to the system prompt.
	SystemPromptInjection SystemPromptInjection `json:"system_prompt_injection"`
	// SQLite tunes the database. User file only.
	SQLite SQLite `json:"sqlite" project:"never" effect:"none"`
	// Notices lists the events for which the harness shows a short notice. "busts": content was removed from the
	// prompt. "troubles": the historian has failed twice in a row. If the list is empty, neither is shown. A notice
	// that magicctx does not work at all is always shown. User file only.
	Notices []string `json:"notices" jsonschema:"default=busts,default=troubles,enum=busts,enum=troubles" project:"never"`
	// Widget shows, above Pi's prompt, how full the window is and what the newest bust did. User file only.
	Widget bool `json:"widget" jsonschema:"default=true" project:"never"`
	// TemporalAwareness tells the model about pauses of five minutes and more.
	TemporalAwareness bool `json:"temporal_awareness" jsonschema:"default=true" project:"off"`
	// KeepSubagents keeps the child sessions of hidden agents, for debugging.
	KeepSubagents bool `json:"keep_subagents" jsonschema:"default=false" project:"off"`
	// CavemanTextCompression shortens old text. It works only where ctx_reduce is off.
	CavemanTextCompression CavemanTextCompression `json:"caveman_text_compression"`
	// Embedding lets searches find messages by their meaning. It sends the texts of the index to an embedding service.
	// User file only.
	Embedding Embedding `json:"embedding" project:"never"`
	// Memory configures the memories that last beyond a session.
	Memory Memory `json:"memory"`
	// Historian is the hidden agent that summarises history. It is on by default.
	Historian Historian `json:"historian"`
	// Budget bounds what the hidden agents may cost.
	Budget Budget `json:"budget"`
	// Dreamer is the hidden agent that tends the memories at night or on request (/ctx-dream). If this block is
	// missing, the dreamer is disabled.
	Dreamer Dreamer `json:"dreamer"`
	// Sidekick is the hidden agent behind /ctx-aug. It searches earlier messages, and adds findings to your next
	// message. If this block is missing, the sidekick is disabled.
	Sidekick Sidekick `json:"sidekick"`
	// Command defines additional commands by name. They override the built-in ones (OpenCode only).
	Command map[string]Command `json:"command,omitempty" project:"trusted" effect:"none"`

	// TransformTimeoutMS bounds the work before one request, in milliseconds.
	TransformTimeoutMS int `json:"transform_timeout_ms" jsonschema:"default=5000,minimum=100,maximum=600000" project:"trusted"`
	// ResyncTimeoutMS bounds the work before a request if the shim sends the whole session, in milliseconds.
	ResyncTimeoutMS int `json:"resync_timeout_ms" jsonschema:"default=30000,minimum=100,maximum=600000" project:"trusted"`
	// IdleExitMinutes is how long a host without clients waits before it ends. User file only.
	IdleExitMinutes int `json:"idle_exit_minutes" jsonschema:"default=10,minimum=1,maximum=10080" project:"never"`
}

// AutoDrop configures which content is dropped or shortened although the model has not asked for it. No such drop
// causes the loss of a cached prefix.
type AutoDrop struct {
	// Duplicates drops all but the newest of several identical calls of tools
	// that only read.
	Duplicates bool `json:"duplicates" jsonschema:"default=true" project:"trusted"`
	// SupersededWrites shortens the content of a write if the same file was
	// read or written again later.
	SupersededWrites bool `json:"superseded_writes" jsonschema:"default=true" project:"trusted"`
	// OldErrors shortens the arguments of failed calls. The error message stays.
	OldErrors bool `json:"old_errors" jsonschema:"default=true" project:"trusted"`
	// ErrorSteps is the number of model steps after a failed call before `old_errors` shortens the call.
	ErrorSteps int `json:"error_steps" jsonschema:"default=4,minimum=1" project:"trusted"`
	// TurnProtection is the number of newest steps of the model in which `duplicates`, `superseded_writes` and
	// `old_errors` change nothing.
	TurnProtection int `json:"turn_protection" jsonschema:"default=4,minimum=0" project:"trusted"`
	// ProtectedTools are names of tools, or patterns (*, ?, {a,b}), whose calls `duplicates`, `superseded_writes` and
	// `old_errors` leave alone. Only the first 64 patterns are used. A pattern has at most 256 bytes and 32
	// alternatives.
	ProtectedTools []string `json:"protected_tools" check:"pattern" jsonschema:"default=todowrite,default=todoread,default=task,default=skill,default=question,default=plan_*,default=ctx_*" project:"trusted"`
	// ProtectedPaths are patterns (**, *, ?, {a,b}), with the same limits. The three rules never change calls for
	// matching files. The rules that drop tool output under pressure spare these calls, too, as long as the next prompt
	// fits. A pattern is matched against the path that the tool got, and against the path relative to the project.
	ProtectedPaths []string `json:"protected_paths,omitempty" check:"pattern" project:"trusted"`
}

// ProjectDocs configures the documents of the project in the prompt.
type ProjectDocs struct {
	// Enabled puts ARCHITECTURE.md and STRUCTURE.md from the project's directory into the prompt, in front of the
	// summaries. A change takes effect when magicctx next writes the summaries in the prompt anew.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// BudgetPercentage limits the size of all these documents together, as a share of the history's budget, in percent.
	// If a document is too long, the prompt contains only its name.
	BudgetPercentage float64 `json:"budget_percentage" jsonschema:"default=50,minimum=1,maximum=50" project:"less"`
}

// CommitClusterTrigger starts the historian after clusters of commits.
type CommitClusterTrigger struct {
	// Enabled turns the trigger on.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// MinClusters is the number of clusters that starts the historian.
	MinClusters int `json:"min_clusters" jsonschema:"default=3,minimum=1" project:"more"`
}

// SystemPromptInjection adds the guidance to the system prompt.
type SystemPromptInjection struct {
	// Enabled turns the injection on.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// SkipSignatures are texts. If an agent's prompt contains one of them, the
	// agent gets no guidance.
	SkipSignatures []string `json:"skip_signatures" jsonschema:"default=<!-- magic-context: skip -->" project:"add"`
}

// SQLite tunes the database.
type SQLite struct {
	// CacheSizeMB is the page cache of a connection, in MiB.
	CacheSizeMB int `json:"cache_size_mb" jsonschema:"default=64,minimum=2,maximum=2048"`
	// MmapSizeMB is how much of the database file is mapped into memory, in MiB.
	MmapSizeMB int `json:"mmap_size_mb" jsonschema:"default=0,minimum=0,maximum=8192"`
}

// CavemanTextCompression shortens old text.
type CavemanTextCompression struct {
	// Enabled turns the compression on.
	Enabled bool `json:"enabled" jsonschema:"default=false" project:"off"`
	// MinChars is the size, in bytes, below which text is not shortened.
	MinChars int `json:"min_chars" jsonschema:"default=500,minimum=100,maximum=10000" project:"more"`
}

// Spending is how early magicctx removes content to save money, for example "frugal".
type Spending = string

// The values of Spending.
const (
	SpendingFrugal   Spending = "frugal"
	SpendingBalanced Spending = "balanced"
	SpendingGenerous Spending = "generous"
)

// Spendings lists all values, from the cheapest to the most expensive.
var Spendings = []Spending{SpendingFrugal, SpendingBalanced, SpendingGenerous}

// Embedding chooses how text becomes vectors.
type Embedding struct {
	// Provider computes the vectors. "openai-compatible" needs endpoint and model.
	Provider EmbeddingProvider `json:"provider" jsonschema:"default=off,enum=openai-compatible,enum=off"`
	// Model is the embedding model.
	Model string `json:"model,omitempty" jsonschema:"example=text-embedding-3-small"`
	// Endpoint is the base address of the service.
	Endpoint string `json:"endpoint,omitempty" jsonschema:"example=http://localhost:11434/v1"`
	// APIKey authorises requests: the key, "{env:NAME}" or "{file:PATH}".
	APIKey string `json:"api_key,omitempty" jsonschema:"example={env:OPENAI_API_KEY}"`
	// InputType is sent with each request to the service. If it changes, all vectors are computed again.
	InputType string `json:"input_type,omitempty"`
	// Truncate is sent with each request to the service.
	Truncate string `json:"truncate,omitempty"`
	// MaxInputTokens is the longest input of the model. Longer texts are cut.
	MaxInputTokens int `json:"max_input_tokens" jsonschema:"default=512,minimum=1"`
}

// EmbeddingProvider computes vectors.
type EmbeddingProvider = string

// The values of EmbeddingProvider.
const (
	EmbeddingOpenAI EmbeddingProvider = "openai-compatible"
	EmbeddingOff    EmbeddingProvider = "off"
)

// Memory configures the memories that last beyond a session.
type Memory struct {
	// Enabled shows memories to the model, and lets it write them.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// InjectionBudgetTokens bounds the memories in the prompt, in tokens.
	InjectionBudgetTokens int `json:"injection_budget_tokens" jsonschema:"default=4000,minimum=500,maximum=20000" project:"less"`
	// Review hides the memories that models write, until you accept them with "memory review".
	Review bool `json:"review" jsonschema:"default=false" project:"on"`
	// AutoPromote turns the historian's facts into memories.
	AutoPromote bool `json:"auto_promote" jsonschema:"default=true" project:"off"`
	// RetrievalCountPromotionThreshold has no effect. It is accepted because
	// older files contain it.
	RetrievalCountPromotionThreshold int `json:"retrieval_count_promotion_threshold" jsonschema:"default=3,minimum=1" project:"any" effect:"none"`
	// AutoSearch looks for earlier messages that are related to a new prompt or tool result, and shows their facts to
	// the model.
	AutoSearch AutoSearch `json:"auto_search"`
	// GitCommitIndexing makes commit messages searchable.
	GitCommitIndexing GitCommitIndexing `json:"git_commit_indexing"`
}

// AutoSearch looks for earlier messages that are related to a new prompt or tool result, and shows their facts to the
// model.
type AutoSearch struct {
	// Enabled adds lines with facts from earlier messages to the prompt.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// ScoreThreshold is the score that a fact needs to be shown, from 0 to 1.
	ScoreThreshold float64 `json:"score_threshold" jsonschema:"default=0.6,minimum=0.3,maximum=0.95" project:"more"`
	// MinPromptChars is the length that a prompt needs to get facts, in UTF-16 units.
	MinPromptChars int `json:"min_prompt_chars" jsonschema:"default=20,minimum=5,maximum=500" project:"more"`
}

// GitCommitIndexing makes commit messages searchable.
type GitCommitIndexing struct {
	// Enabled lets the index read commits.
	Enabled bool `json:"enabled" jsonschema:"default=true" project:"off"`
	// SinceDays limits the index to commits that are at most this many days old.
	SinceDays int `json:"since_days" jsonschema:"default=3650,minimum=7,maximum=3650" project:"less"`
	// MaxCommits limits how many commits the index reads at a time, newest first.
	MaxCommits int `json:"max_commits" jsonschema:"default=20000,minimum=100,maximum=20000" project:"less"`
}

// Agent holds the keys that the blocks of all hidden agents share. If one value
// is invalid, the whole block is ignored, because an agent with the wrong model
// may be expensive. A project file must not set prompt, permission, tools and
// system_prompt.
type Agent struct {
	// Disable turns the agent off.
	Disable bool `json:"disable" jsonschema:"default=false" project:"on"`
	// Model is "provider/model". Empty means the session's model.
	Model string `json:"model,omitempty" jsonschema:"pattern=^([^/ ]+/.*[^/ ])?$,example=anthropic/claude-haiku-4-5" project:"trusted"`
	// FallbackModels are tried in order when the model fails.
	FallbackModels []string `json:"fallback_models,omitempty" bare:"list" jsonschema:"oneof_type=string;array,pattern=^([^/ ]+/.*[^/ ])?$,example=anthropic/claude-haiku-4-5" project:"trusted"`
	// Variant is a variant of the model that the harness defines.
	Variant string `json:"variant,omitempty" project:"trusted" effect:"none"`
	// Temperature is the sampling temperature.
	Temperature *float64 `json:"temperature,omitempty" jsonschema:"minimum=0,maximum=2" project:"trusted" effect:"none"`
	// TopP is the nucleus sampling mass.
	TopP *float64 `json:"top_p,omitempty" jsonschema:"minimum=0,maximum=1" project:"trusted" effect:"none"`
	// MaxTokens bounds the answer, in tokens; 0 means the harness's bound.
	MaxTokens int `json:"maxTokens" jsonschema:"minimum=0" project:"trusted" effect:"none"`
	// MaxSteps bounds the tool steps of a run; 0 means the agent's own bound.
	MaxSteps int `json:"maxSteps" jsonschema:"minimum=0" project:"trusted" effect:"none"`
	// Prompt replaces the agent's prompt. User file only.
	Prompt string `json:"prompt,omitempty" project:"never" effect:"none"`
	// Description is shown where the harness lists agents.
	Description string `json:"description,omitempty" project:"any" effect:"none"`
	// Mode is the kind of agent in the harness.
	Mode string `json:"mode,omitempty" jsonschema:"enum=subagent,enum=primary,enum=all" project:"trusted" effect:"none"`
	// Color is the agent's colour in the harness.
	Color string `json:"color,omitempty" jsonschema:"pattern=^#[0-9a-fA-F]{6}$,example=#7aa2f7" project:"any" effect:"none"`
	// Tools turns single tools on or off. User file only.
	Tools map[string]bool `json:"tools,omitempty" project:"never" effect:"none"`
	// Permission overrides the agent's own permissions. User file only.
	Permission Permission `json:"permission" project:"never" effect:"none"`
}

// Permission says what an agent may do, with OpenCode's names and values. Empty
// means not set.
type Permission struct {
	// Edit covers changing files.
	Edit string `json:"edit,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
	// Bash covers shell commands, all of them or by pattern.
	Bash map[string]string `json:"bash,omitempty" bare:"*" jsonschema:"oneof_type=string;object,enum=ask,enum=allow,enum=deny"`
	// WebFetch covers reading web pages.
	WebFetch string `json:"webfetch,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
	// DoomLoop covers repeating the same call.
	DoomLoop string `json:"doom_loop,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
	// ExternalDirectory covers files outside the project.
	ExternalDirectory string `json:"external_directory,omitempty" jsonschema:"enum=ask,enum=allow,enum=deny"`
}

// Historian configures the historian.
type Historian struct {
	Agent
	// TwoPass lets an editor revise each summary.
	TwoPass bool `json:"two_pass" jsonschema:"default=false" project:"off"`
	// ThinkingLevel is the model's effort (Pi only).
	ThinkingLevel string `json:"thinking_level,omitempty" jsonschema:"enum=off,enum=minimal,enum=low,enum=medium,enum=high,enum=xhigh" project:"trusted" effect:"none"`
}

// Budget bounds what the hidden agents may cost in a project on one day, in local time. A call begins only if its
// highest possible cost fits. A model without a known price is assumed to cost as much as the most expensive known one.
type Budget struct {
	// Money is the most that all agents together may spend in a project on one day, in $. If it is 0,
	// no agent may ask a model.
	Money float64 `json:"money" jsonschema:"default=50,minimum=0" project:"less"`
	// Tokens bounds the tokens of all questions and answers together.
	Tokens int `json:"tokens" jsonschema:"default=100000000,minimum=0" project:"less"`
	// Historian bounds the historian. It has its own budget, because a session without summaries forgets its past.
	Historian HistorianBudget `json:"historian"`
	// Others bounds all other agents together.
	Others OthersBudget `json:"others"`
}

// HistorianBudget bounds the historian in a project on one day.
type HistorianBudget struct {
	// Percent is the day's budget, in percent of the average daily cost of the project's prompts in the last seven
	// days.
	Percent float64 `json:"percent" jsonschema:"default=25,minimum=0,maximum=100" project:"less"`
	// AtLeast is the lower bound of the budget, in $.
	AtLeast float64 `json:"at_least" jsonschema:"default=5,minimum=0" project:"less"`
	// AtMost is the upper bound of the budget, in $.
	AtMost float64 `json:"at_most" jsonschema:"default=50,minimum=0" project:"less"`
	// Tokens bounds the historian's tokens.
	Tokens int `json:"tokens" jsonschema:"default=100000000,minimum=0" project:"less"`
}

// OthersBudget bounds all agents but the historian in a project on one day.
type OthersBudget struct {
	// Percent is the day's budget, in percent of the average cost that also determines the historian's budget.
	Percent float64 `json:"percent" jsonschema:"default=5,minimum=0,maximum=100" project:"less"`
	// AtLeast is the lower bound of the budget, in $.
	AtLeast float64 `json:"at_least" jsonschema:"default=0.2,minimum=0" project:"less"`
	// AtMost is the upper bound of the budget, in $.
	AtMost float64 `json:"at_most" jsonschema:"default=2,minimum=0" project:"less"`
	// Tokens bounds the other agents' tokens.
	Tokens int `json:"tokens" jsonschema:"default=20000000,minimum=0" project:"less"`
}

// Dreamer configures the dreamer.
type Dreamer struct {
	Agent
	// Schedule is the time of day at which runs may begin, in local time. If it is empty, runs begin only on request,
	// or after idle_minutes. Without a dreamer block in your file, there are no runs.
	Schedule string `json:"schedule" check:"span" jsonschema:"default=02:00-06:00,pattern=^(([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9])?$,example=02:00-06:00" project:"trusted"`
	// IdleMinutes also lets a run begin if no harness has sent a prompt for this many minutes and the machine is on
	// mains power. 0 means never.
	IdleMinutes int `json:"idle_minutes" jsonschema:"default=0,minimum=0,maximum=1440" project:"trusted"`
	// MaxRuntimeMinutes bounds one night, in minutes.
	MaxRuntimeMinutes int `json:"max_runtime_minutes" jsonschema:"default=120,minimum=10" project:"less"`
	// Tasks are the tasks of a run. maintain-docs writes a patch that corrects ARCHITECTURE.md and STRUCTURE.md.
	Tasks []string `json:"tasks" jsonschema:"default=consolidate,default=verify,default=archive-stale,default=improve,enum=consolidate,enum=verify,enum=archive-stale,enum=improve,enum=maintain-docs" project:"trusted"`
	// TaskTimeoutMinutes bounds one task, in minutes.
	TaskTimeoutMinutes int `json:"task_timeout_minutes" jsonschema:"default=20,minimum=5" project:"less"`
	// InjectDocs shows the project's maintained documents to the model, even while the dreamer is disabled.
	InjectDocs bool `json:"inject_docs" jsonschema:"default=true" project:"off" effect:"none"`
	// UserMemories turns repeated observations about the user into memories that all projects see, even while the
	// dreamer is disabled.
	UserMemories UserMemories `json:"user_memories" project:"never"`
	// PinKeyFiles shows the model outlines of files that are often read, even while the dreamer is disabled.
	PinKeyFiles PinKeyFiles `json:"pin_key_files"`
}

// UserMemories turns repeated observations about the user into memories.
type UserMemories struct {
	// Enabled is your consent: the historian may note what it observes about you. User file only.
	Enabled bool `json:"enabled" jsonschema:"default=false"`
	// PromotionThreshold is the number of sessions in which the historian must make the same observation before it
	// becomes a memory.
	PromotionThreshold int `json:"promotion_threshold" jsonschema:"default=3,minimum=2,maximum=20"`
}

// PinKeyFiles shows outlines of often read files to the model.
type PinKeyFiles struct {
	// Enabled adds the outlines to the head.
	Enabled bool `json:"enabled" jsonschema:"default=false" project:"off"`
	// TokenBudget bounds the outlines, in tokens.
	TokenBudget int `json:"token_budget" jsonschema:"default=10000,minimum=2000,maximum=30000" project:"less"`
	// MinReads is the number of sessions that must have read a file before its outline is shown.
	MinReads int `json:"min_reads" jsonschema:"default=4,minimum=2,maximum=20" project:"more"`
}

// Sidekick configures the sidekick.
type Sidekick struct {
	Agent
	// TimeoutMS bounds one run, in milliseconds.
	TimeoutMS int `json:"timeout_ms" jsonschema:"default=30000,minimum=1" project:"less"`
	// SystemPrompt is added to the sidekick's rules, for example "Prefer decisions to commands." User file only.
	SystemPrompt string `json:"system_prompt,omitempty" project:"never"`
	// ThinkingLevel is the model's effort (Pi only).
	ThinkingLevel string `json:"thinking_level,omitempty" jsonschema:"enum=off,enum=minimal,enum=low,enum=medium,enum=high,enum=xhigh" project:"trusted" effect:"none"`
}

// Command is a command that the user defines.
type Command struct {
	// Template is the prompt that the command sends.
	Template string `json:"template" jsonschema:"required,minLength=1"`
	// Description is shown in the list of commands.
	Description string `json:"description,omitempty"`
	// Agent runs the command. Empty means the current agent.
	Agent string `json:"agent,omitempty"`
	// Model is "provider/model". Empty means the session's model.
	Model string `json:"model,omitempty"`
	// Subtask runs the command in a child session.
	Subtask bool `json:"subtask" jsonschema:"default=false"`
}
