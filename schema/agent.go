package schema

import "github.com/magicctx/magicctx-host/internal/json"

// MaxAgentPromptBytes is the maximum length of System and Prompt together, in
// an AgentRunParams. It is about 250,000 tokens, more than a summarising model
// reads at once. JSON may need six bytes for each of these bytes, and even then
// the call fits into MaxBodyBytes.
const MaxAgentPromptBytes = 1 << 20

// AgentRunParams runs a hidden agent once: one prompt, one model, one answer.
// The user's session does not change. The harness runs the agent with the
// user's own logins: OpenCode in a child session, Pi in a process of its own.
type AgentRunParams struct {
	Directory string `json:"directory"`
	// Session is the session that the agent works for.
	Session string `json:"session"`
	// Run is a unique name, by which agent/abort can end the run.
	Run string `json:"run"`
	// Agent is the name of an AgentDefinition, for example
	// "magicctx-historian".
	Agent string `json:"agent"`
	// Title says to the user what the run does, for example "history 120-180".
	Title string `json:"title"`
	// Model is "provider/model". If it is empty, the model of the session
	// answers.
	Model string `json:"model,omitzero"`
	// System is the system prompt, and Prompt the message of the user.
	System string `json:"system"`
	Prompt string `json:"prompt"`
	// Tools are the names of all tools that the agent may call.
	Tools []string `json:"tools"`
	// Steps is the maximum number of steps of the agent. 0 means no maximum.
	// OpenCode ignores this value, and uses the maximum in the AgentDefinition.
	Steps int `json:"steps,omitzero" jsonschema:"minimum=0"`
	// MaxOutput is the maximum number of tokens in the answer of each step,
	// including thinking. If it is 0, the harness uses its own maximum.
	MaxOutput int `json:"maxOutput,omitzero" jsonschema:"minimum=0"`
	// TimeoutMS is the maximum duration of the run, in ms. After this time, the
	// shim aborts the run.
	TimeoutMS int `json:"timeoutMs"`
	// Keep means that the harness does not delete the child session, so that a
	// person can read it.
	Keep bool `json:"keep,omitzero"`
}

// AgentRunResult holds the answers of the model, in order. A run that fails has a
// Failure, but may still have answers.
type AgentRunResult struct {
	// Answers are the assistant messages of the run. They have the same form as the messages of a session/transform,
	// but contain only texts.
	Answers []json.Value `json:"answers"`
	Failure AgentFailure `json:"failure,omitzero"`
}

// AgentFailure says why a run has no good answer.
type AgentFailure struct {
	// Reason is "aborted" if the run was withdrawn, "timeout" if it missed its
	// deadline, and otherwise "error".
	Reason string `json:"reason" jsonschema:"enum=error,enum=aborted,enum=timeout"`
	// Error is the error in the harness's own form: a text, or for OpenCode an
	// object with the members name and data.
	Error json.Value `json:"error,omitzero"`
}

// AgentAbortParams ends a run. The shim then answers agent/run with the usage so far.
type AgentAbortParams struct {
	Directory string `json:"directory"`
	Run       string `json:"run"`
}
