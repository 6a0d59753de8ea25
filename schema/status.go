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
	InputTokens   int `json:"inputTokens"`
	ContextTokens int `json:"contextTokens"`
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
}

// SubscribeParams asks for a session/changed notification after each pass.
type SubscribeParams struct {
	// Harness and Session restrict the subscription; empty means all.
	Harness Harness `json:"harness,omitzero"`
	Session string  `json:"session,omitzero"`
}
