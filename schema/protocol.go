package schema

import "github.com/magicctx/magicctx-host/internal/json"

// The protocol version. A host serves every client of its major version; a
// minor version only adds optional fields and methods.
const (
	ProtocolMajor = 1
	ProtocolMinor = 0
)

// Sizes and times that both ends must agree on.
const (
	// MaxBodyBytes bounds the JSON-RPC body of a frame. Message arrays travel
	// as the attachment of a frame, because the JSON-RPC library decodes a
	// body about five times.
	MaxBodyBytes = 8 << 20
	// MaxAttachmentBytes bounds the attachment of a frame.
	MaxAttachmentBytes = 512 << 20
)

// Method names, shim to host.
const (
	MethodInitialize     = "initialize"
	MethodShutdown       = "shutdown"
	MethodTransform      = "session/transform"
	MethodSystem         = "session/system"
	MethodEvent          = "session/event"
	MethodChatMessage    = "session/chatMessage"
	MethodTextComplete   = "text/complete"
	MethodToolBefore     = "tool/before"
	MethodToolAfter      = "tool/after"
	MethodToolExecute    = "tool/execute"
	MethodCommandExecute = "command/execute"
	MethodCancel         = "$/cancelRequest"
)

// Method names for whoever reads the state of the host.
const (
	MethodStatus           = "status"
	MethodSessionStatus    = "session/status"
	MethodSessionSubscribe = "session/subscribe"
)

// Method names, host to shim.
const (
	MethodAgentRun       = "agent/run"
	MethodAgentAbort     = "agent/abort"
	MethodHistoryRead    = "history/read"
	MethodNotifyShow     = "notify/show"
	MethodMessageSend    = "message/send"
	MethodModelLimits    = "models/limits"
	MethodSessionChanged = "session/changed"
)

// Error codes beside those of JSON-RPC 2.0.
const (
	// CodeResync answers a transform whose base the host does not hold: the
	// shim sends the whole array.
	CodeResync = -32010
	// CodeDisabled answers every session method while the host must not work,
	// for instance because it cannot persist. The message says why.
	CodeDisabled = -32011
	// CodeVersion answers an initialize of another major protocol version.
	CodeVersion = -32012
	// CodeTimeout answers a request that missed its deadline in the host.
	CodeTimeout = -32013
	// CodeBusy answers a request that met a cap: too many calls wait or run.
	CodeBusy = -32014
	// CodeStopping answers a request that came while the host was stopping.
	CodeStopping = -32015
	// CodeCancelled answers a request that $/cancelRequest withdrew (as LSP).
	CodeCancelled = -32800
)

// Harness names the program that a shim lives in.
type Harness string

// The harnesses.
const (
	HarnessOpenCode Harness = "opencode"
	HarnessPi       Harness = "pi"
)

// Version is a protocol version.
type Version struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

// InitializeParams opens one directory on a connection. A harness process has
// one connection; it initializes once for each of its plugin instances. The
// first call fixes protocol and harness of the connection.
type InitializeParams struct {
	Protocol Version `json:"protocol"`
	// Client is the name and version of the program at the other end, for
	// messages to people ("opencode-shim", "magicctx-host status").
	Client        string `json:"client"`
	ClientVersion string `json:"clientVersion"`
	// Harness is absent for a client that only reads status.
	Harness        Harness `json:"harness,omitzero" jsonschema:"enum=opencode,enum=pi"`
	HarnessVersion string  `json:"harnessVersion,omitzero"`
	PID            int     `json:"pid,omitzero"`
	// Directory is the project directory of the instance, absolute.
	Directory string `json:"directory,omitzero"`
	// Worktree is the root of the directory's version control checkout.
	Worktree string `json:"worktree,omitzero"`
}

// InitializeResult says what the host is and what the shim must register.
type InitializeResult struct {
	Protocol    Version `json:"protocol"`
	HostVersion string  `json:"hostVersion"`
	HostPID     int     `json:"hostPid"`
	// StoreSchema is the schema version of the database.
	StoreSchema int `json:"storeSchema"`
	// Enabled is false when the shim must forward nothing for this directory.
	Enabled bool `json:"enabled"`
	// Reason says why not, in a sentence for the user.
	Reason string `json:"reason,omitzero"`
	// Trouble tells that Reason is a fault that may pass, not somebody's wish:
	// the shim tells the user, and asks again before the next pass.
	Trouble bool `json:"trouble,omitzero"`
	// Warnings are sentences for the user about the configuration.
	Warnings []string `json:"warnings,omitzero"`
	// Hooks are the optional methods the host wants to be called for; the shim
	// forwards no other hook. The mandatory ones (session/transform,
	// session/system, tool/execute, command/execute) are not listed.
	Hooks    []string            `json:"hooks"`
	Tools    []ToolDefinition    `json:"tools"`
	Commands []CommandDefinition `json:"commands"`
	Agents   []AgentDefinition   `json:"agents"`
	// TransformTimeoutMS bounds a session/transform, ms.
	TransformTimeoutMS int `json:"transformTimeoutMs"`
	// ResyncTimeoutMS bounds a session/transform that carries a whole array, ms.
	ResyncTimeoutMS int `json:"resyncTimeoutMs"`
}

// ToolDefinition is a tool that the model may call.
type ToolDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is the JSON Schema of the arguments, shown to the model verbatim.
	Parameters json.Value `json:"parameters"`
}

// CommandDefinition is a slash command of the user.
type CommandDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// AgentDefinition is a hidden agent to register with the harness.
type AgentDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	// Model is "provider/model"; empty means the session's own.
	Model string   `json:"model,omitzero"`
	Tools []string `json:"tools"`
	Steps int      `json:"steps,omitzero"`
}

// TransformParams asks for the wire of one pass. The messages themselves, a
// JSON array, are the attachment of the frame.
type TransformParams struct {
	Session   string `json:"session"`
	Directory string `json:"directory"`
	// Parent is the session that spawned this one; empty for a primary session.
	Parent string `json:"parent,omitzero"`
	// Base is the revision whose first Keep messages stand unchanged. 0 asks
	// for a resync: Keep is 0 and the attachment is the whole array.
	Base uint64 `json:"base"`
	Keep int    `json:"keep"`
	// Messages is the attachment: the messages that follow the kept ones,
	// projected to what the host uses.
	Messages json.Value `json:"-"`
}

// Verdict is what a pass may do to the cached prefix.
type Verdict string

// The verdicts.
const (
	Steady Verdict = "steady"
	Soft   Verdict = "soft"
	Hard   Verdict = "hard"
)

// WireMutation turns the harness's array into the wire. To apply it: drop the
// messages before Start, patch each remaining message that has a patch, and
// prepend the head. The shim keeps head and patches between passes.
type WireMutation struct {
	// Revision names the array of this request, as base for the next one.
	Revision uint64  `json:"revision"`
	Verdict  Verdict `json:"verdict" jsonschema:"enum=steady,enum=soft,enum=hard"`
	// Cause says why the pass is not steady.
	Cause string `json:"cause,omitzero"`
	// Start is the index of the first message that stays on the wire.
	Start int `json:"start"`
	// Head is the synthetic messages in front of the tail, in the harness's
	// shape; absent when its bytes did not change since the last answer.
	Head []json.Value `json:"head,omitempty"`
	// HeadCleared says that a head sent before is gone.
	HeadCleared bool `json:"headCleared,omitzero"`
	// Edits maps a message id to the patch of that message, for messages
	// whose patch changed since the last answer, or all after a resync.
	Edits map[string]Patch `json:"edits"`
	// Cleared lists the messages whose patch is gone.
	Cleared []string `json:"cleared,omitzero"`
}

// Patch is a sequence of operations on one raw message: RFC 6902 restricted to
// add, remove and replace, plus prepend.
type Patch []PatchOp

// PatchOp is one operation. Paths are JSON Pointers (RFC 6901) into the message.
type PatchOp struct {
	Op   string `json:"op" jsonschema:"enum=add,enum=remove,enum=replace,enum=prepend"`
	Path string `json:"path"`
	// Value is the new value; for prepend, our one extension, the string that
	// is put before the string at Path, so that a resync does not carry every
	// tool output back.
	Value json.Value `json:"value,omitzero"`
}

// Model names a model of a provider.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// SystemParams carries the system prompt of a request about to be sent.
type SystemParams struct {
	Session   string   `json:"session"`
	Directory string   `json:"directory"`
	Model     Model    `json:"model"`
	System    []string `json:"system"`
}

// SystemResult is the system prompt to send instead.
type SystemResult struct {
	// System is absent when nothing changes.
	System []string `json:"system,omitzero"`
}

// EventParams forwards an event of the harness, verbatim.
type EventParams struct {
	// Session is empty for events of no session.
	Session   string     `json:"session,omitzero"`
	Directory string     `json:"directory"`
	Event     json.Value `json:"event"`
}

// ChatMessageParams tells of a user message before it is stored.
type ChatMessageParams struct {
	Session   string     `json:"session"`
	Directory string     `json:"directory"`
	Message   json.Value `json:"message"`
	Parts     json.Value `json:"parts"`
}

// ChatMessageResult is empty: the message stays as it is.
type ChatMessageResult struct{}

// TextCompleteParams carries a finished text of the model before it is stored.
type TextCompleteParams struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// TextCompleteResult is the text to store.
type TextCompleteResult struct {
	Text string `json:"text"`
}

// ToolBeforeParams tells of a tool call about to run.
type ToolBeforeParams struct {
	Session string     `json:"session"`
	Tool    string     `json:"tool"`
	CallID  string     `json:"callId"`
	Args    json.Value `json:"args"`
}

// ToolBeforeResult may replace the arguments.
type ToolBeforeResult struct {
	Args json.Value `json:"args,omitzero"`
}

// ToolAfterParams tells of a tool call that has run.
type ToolAfterParams struct {
	Session string     `json:"session"`
	Tool    string     `json:"tool"`
	CallID  string     `json:"callId"`
	Args    json.Value `json:"args"`
	Output  string     `json:"output"`
}

// ToolAfterResult may append to the output that the harness stores.
type ToolAfterResult struct {
	Append string `json:"append,omitzero"`
}

// ToolExecuteParams runs one of the host's tools. The harness does not check
// the arguments against the schema; the host does.
type ToolExecuteParams struct {
	Session   string     `json:"session"`
	Directory string     `json:"directory"`
	Tool      string     `json:"tool"`
	CallID    string     `json:"callId"`
	Args      json.Value `json:"args"`
}

// ToolExecuteResult is what the model reads.
type ToolExecuteResult struct {
	Title  string `json:"title,omitzero"`
	Output string `json:"output"`
}

// CommandExecuteParams runs one of the host's slash commands.
type CommandExecuteParams struct {
	Session   string `json:"session"`
	Directory string `json:"directory"`
	Command   string `json:"command"`
	Arguments string `json:"arguments"`
}

// CommandExecuteResult is what the user reads.
type CommandExecuteResult struct {
	Title   string `json:"title,omitzero"`
	Message string `json:"message"`
	Variant string `json:"variant" jsonschema:"enum=info,enum=success,enum=warning,enum=error"`
}

// ShutdownParams ends the connection: calls in flight finish, then the host
// answers and closes it.
type ShutdownParams struct {
	// Host asks the whole host to stop, for a newer one to take its place.
	Host bool `json:"host,omitzero"`
	// Version is that of the newer one, for the log.
	Version string `json:"version,omitzero"`
}

// CancelParams withdraws a request of the same connection.
type CancelParams struct {
	ID json.Value `json:"id"`
}

// Empty is the result of methods that only confirm.
type Empty struct{}
