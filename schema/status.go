package schema

// StatusParams asks for the state of the host.
type StatusParams struct{}

// StatusResult is the state of the host.
type StatusResult struct {
	Version     string          `json:"version"`
	Protocol    Version         `json:"protocol"`
	PID         int             `json:"pid"`
	StartedAt   int64           `json:"startedAt"`
	Database    string          `json:"database"`
	StoreSchema int             `json:"storeSchema"`
	Enabled     bool            `json:"enabled"`
	Reason      string          `json:"reason,omitzero"`
	Bugs        int64           `json:"bugs"`
	Clients     []ClientStatus  `json:"clients"`
	Sessions    []SessionStatus `json:"sessions"`
	// MemoryBytes is what the host occupies in memory: resident where the
	// system tells, else what the Go runtime holds.
	MemoryBytes int64 `json:"memoryBytes,omitzero"`
	// StoreBytes is the database on disk, its write-ahead log included.
	StoreBytes int64 `json:"storeBytes,omitzero"`
	// KnownSessions counts all sessions of the store; Sessions lists only the newest.
	KnownSessions int `json:"knownSessions,omitzero"`
	// Warnings are what a person should look at, worst first.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Warning is something that a person should look at.
type Warning struct {
	// Source says what it is about: the store, a bug of ours, or the
	// configuration of Directory.
	Source    string `json:"source" jsonschema:"enum=store,enum=bug,enum=config"`
	Directory string `json:"directory,omitzero"`
	Message   string `json:"message"`
}

// ClientStatus is one connection of the host.
type ClientStatus struct {
	Client      string   `json:"client"`
	Version     string   `json:"version"`
	Harness     Harness  `json:"harness,omitzero"`
	PID         int      `json:"pid,omitzero"`
	Directories []string `json:"directories"`
}

// SessionStatusParams asks for the state of one session.
type SessionStatusParams struct {
	Harness Harness `json:"harness" jsonschema:"enum=opencode,enum=pi"`
	Session string  `json:"session"`
}

// SessionStatus is the state of one session after its last pass.
type SessionStatus struct {
	Harness Harness `json:"harness"`
	Session string  `json:"session"`
	Mode    string  `json:"mode" jsonschema:"enum=primary,enum=primary-no-reduce,enum=subagent,enum=subagent-no-reduce"`
	Model   Model   `json:"model"`
	Epoch   int     `json:"epoch"`
	Passes  int     `json:"passes"`
	Busts   int     `json:"busts"`
	// LastVerdict and LastCause are those of the last pass.
	LastVerdict Verdict `json:"lastVerdict,omitzero"`
	LastCause   string  `json:"lastCause,omitzero"`
	LastPassAt  int64   `json:"lastPassAt,omitzero"`
	// LastPassMS is how long the host worked on the last pass, ms, its commit
	// included; 0 when it was before the host started.
	LastPassMS float64 `json:"lastPassMs,omitzero"`
	Messages   int     `json:"messages"`
	// InputTokens is the prompt size that the provider reported last.
	InputTokens int `json:"inputTokens"`
	// ContextTokens is how long a prompt may be, as far as is known; 0 is unknown.
	ContextTokens int `json:"contextTokens"`
	// LimitSource is on whose word ContextTokens is what it is, since LimitAt.
	LimitSource LimitSource `json:"limitSource,omitzero" jsonschema:"enum=catalogue,enum=usage,enum=overflow,enum=default,enum=config"`
	LimitAt     int64       `json:"limitAt,omitzero"`
	// Pressure is InputTokens / ContextTokens, 0 when either is unknown.
	Pressure float64 `json:"pressure"`
	// Units counts the tagged units, Dropped those dropped, Queued those that
	// wait for the next bust.
	Units   int `json:"units"`
	Dropped int `json:"dropped"`
	Queued  int `json:"queued"`
	// CacheRead and CacheWrite are the tokens that the provider reported, summed.
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	// CacheFresh is the tokens that were neither read from nor written to the
	// provider's cache, summed.
	CacheFresh int64 `json:"cacheFresh,omitzero"`
	// CacheHitRate is the share of all prompt tokens reported that the provider
	// read from its cache, 0..1; 0 when nothing was reported.
	CacheHitRate float64 `json:"cacheHitRate,omitzero"`
	Directory    string  `json:"directory,omitzero"`
	Parent       string  `json:"parent,omitzero"`
	// Threshold is the pressure from which a pass may bust, 0..1.
	Threshold float64 `json:"threshold,omitzero"`
	// LastPassBust tells whether the last pass was a bust.
	LastPassBust bool `json:"lastPassBust,omitzero"`
	// BustCauses counts the busts that the journal still knows, most frequent first.
	BustCauses []CauseCount `json:"bustCauses,omitempty"`
	// Tokens is what the prompt is made of, counted by the host.
	Tokens TokensBySource `json:"tokens,omitzero"`
	// SizeTokens is the prompt of the last pass before it decided, GoalTokens
	// what it wanted to get down to, 0 if it did not.
	SizeTokens int `json:"sizeTokens,omitzero"`
	GoalTokens int `json:"goalTokens,omitzero"`
	// LastPrice is the newest price of a bust that the journal knows, also of
	// one that was not worth it.
	LastPrice *PricedPass `json:"lastPrice,omitzero"`
}

// PricedPass is a pass whose bust was weighed.
type PricedPass struct {
	Pass int `json:"pass"`
	// Cause is why the pass wanted to bust, or why it had to wait.
	Cause string `json:"cause"`
	// Bust tells whether it did.
	Bust  bool      `json:"bust"`
	Price BustPrice `json:"price"`
}

// BustPrice is what a bust costs and gains.
type BustPrice struct {
	// Resent is the tokens behind the first changed byte, which are written to
	// the provider's cache again; Removed those that are not sent any more.
	Resent  int `json:"resent"`
	Removed int `json:"removed"`
	// BreakEven is the number of passes after which the bust has paid off;
	// Forecast how many passes there are expected to be until space must be
	// freed whatever it costs.
	BreakEven float64 `json:"breakEven"`
	Forecast  int     `json:"forecast"`
}

// LimitSource says who told how long a model's prompt may be.
type LimitSource string

// The sources. LimitConfig is for a configured limit; there is no such key yet.
const (
	// LimitCatalogue is the harness's catalogue.
	LimitCatalogue LimitSource = "catalogue"
	// LimitUsage is a prompt that was accepted although it was larger than what
	// was believed before.
	LimitUsage LimitSource = "usage"
	// LimitOverflow is the refusal of a prompt.
	LimitOverflow LimitSource = "overflow"
	// LimitDefault is nobody: pressure is measured against an assumption.
	LimitDefault LimitSource = "default"
	LimitConfig  LimitSource = "config"
)

// CauseCount is how often something had a cause.
type CauseCount struct {
	Cause string `json:"cause"`
	Count int    `json:"count"`
}

// TokensBySource is the content of a session by where it came from, in tokens
// by the host's count. A dropped unit counts as Dropped and nowhere else, but
// for the input of a tool call that is kept as a skeleton.
type TokensBySource struct {
	System      int64 `json:"system"`
	Text        int64 `json:"text"`
	Files       int64 `json:"files"`
	ToolInputs  int64 `json:"toolInputs"`
	ToolResults int64 `json:"toolResults"`
	Dropped     int64 `json:"dropped"`
}

// SubscribeParams asks for a session/changed notification after each pass.
type SubscribeParams struct {
	// Harness and Session restrict the subscription; empty means all.
	Harness Harness `json:"harness,omitzero"`
	Session string  `json:"session,omitzero"`
}
