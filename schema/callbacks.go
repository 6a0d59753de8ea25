package schema

import "github.com/magicctx/magicctx-host/internal/json"

// ModelLimitsParams asks the harness what it knows of a model.
type ModelLimitsParams struct {
	Directory string `json:"directory"`
	Model     Model  `json:"model"`
}

// ModelLimits is what the harness's catalogue says of a model. Zero means unknown.
type ModelLimits struct {
	// ContextTokens is the window; InputTokens the prompt limit where the
	// provider enforces one of its own; OutputTokens the longest answer.
	ContextTokens int `json:"contextTokens,omitzero"`
	InputTokens   int `json:"inputTokens,omitzero"`
	OutputTokens  int `json:"outputTokens,omitzero"`
	// Prices in the catalogue's currency per million tokens.
	Price Price `json:"price,omitzero"`
	// NPM is the package that speaks to the provider; it decides the wire dialect.
	NPM string `json:"npm,omitzero"`
}

// Price is a price list, per million tokens.
type Price struct {
	Fresh  float64 `json:"fresh"`
	Write  float64 `json:"write"`
	Read   float64 `json:"read"`
	Output float64 `json:"output"`
}

// NotifyShowParams shows a short notice to the user.
type NotifyShowParams struct {
	Directory string `json:"directory"`
	Title     string `json:"title,omitzero"`
	Message   string `json:"message"`
	Variant   string `json:"variant" jsonschema:"enum=info,enum=success,enum=warning,enum=error"`
}

// MessageSendParams puts a message into a session.
type MessageSendParams struct {
	Directory string `json:"directory"`
	Session   string `json:"session"`
	Text      string `json:"text"`
	// Reply lets the model answer; otherwise the message is only stored.
	Reply bool `json:"reply"`
	// Ignored hides the message from the model.
	Ignored bool `json:"ignored"`
	// Synthetic says that the message is not the user's: the harness shows the
	// model its text as it is, whenever it reads it.
	Synthetic bool `json:"synthetic,omitzero"`
	// MidTurn lets the message be stored while a turn runs, where the turn's next
	// step reads it. Otherwise it waits until none runs.
	MidTurn bool `json:"midTurn,omitzero"`
	// Key names a message that its session gets once, however often it is sent:
	// a host that has died may have sent it.
	Key string `json:"key,omitzero"`
}

// HistoryReadParams reads messages from the harness's own store.
type HistoryReadParams struct {
	Directory string `json:"directory"`
	Session   string `json:"session"`
	// Limit bounds the count, newest last; 0 reads all.
	Limit int `json:"limit,omitzero"`
}

// HistoryReadResult is the messages as the harness stores them.
type HistoryReadResult struct {
	Messages json.Value `json:"messages"`
}

// AgentRunParams runs a hidden agent in a child session.
type AgentRunParams struct {
	Directory string   `json:"directory"`
	Session   string   `json:"session"`
	Run       string   `json:"run"`
	Agent     string   `json:"agent"`
	Models    []string `json:"models"`
	Prompt    string   `json:"prompt"`
	TimeoutMS int      `json:"timeoutMs"`
}

// AgentRunResult is the last answer of the agent.
type AgentRunResult struct {
	Text  string `json:"text"`
	Model string `json:"model"`
}

// AgentAbortParams stops a run.
type AgentAbortParams struct {
	Run string `json:"run"`
}
