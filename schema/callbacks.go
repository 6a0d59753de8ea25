package schema

// ModelLimitsParams asks the harness for its catalogue entry of a model.
type ModelLimitsParams struct {
	Directory string `json:"directory"`
	Model     Model  `json:"model"`
}

// ModelLimits is the harness's catalogue entry of a model. Zero means unknown.
type ModelLimits struct {
	// ContextTokens is the model's window, for example 200000. InputTokens is the prompt limit, if the provider
	// enforces a limit below the window. OutputTokens is the longest answer.
	ContextTokens int `json:"contextTokens,omitzero"`
	InputTokens   int `json:"inputTokens,omitzero"`
	OutputTokens  int `json:"outputTokens,omitzero"`
	// Price is in the catalogue's currency, per million tokens.
	Price Price `json:"price,omitzero"`
	// NPM is the npm package through which the harness calls the provider, for
	// example "@ai-sdk/anthropic". Pi has no such packages, so its shim sends
	// the name of the model's API, for example "anthropic-messages". That name
	// decides the format of requests.
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
