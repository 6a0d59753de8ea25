package schema

import "github.com/magicctx/magicctx-host/internal/json"

// These are the numbers of the protocol version. A host serves every client of its major version. A new minor version
// only adds optional fields and methods. No code compares minor versions: a shim finds the host's methods in
// InitializeResult.Hooks, and both ends can work without a new method. After the first release, each release with
// additions raises ProtocolMinor by one.
const (
	ProtocolMajor = 1
	ProtocolMinor = 0
)

// Both ends must agree on these limits.
const (
	// MaxBodyBytes bounds the JSON-RPC body of a frame. A message array travels in the attachment instead, because the
	// JSON-RPC library decodes a body about five times, which is too slow for a large array.
	MaxBodyBytes = 8 << 20
	// MaxAttachmentBytes bounds the attachment of a frame.
	MaxAttachmentBytes = 512 << 20
	// MaxMessages bounds the number of messages in a session's array. The host needs a few kilobytes of memory for each
	// message, even for an empty one.
	MaxMessages = 200_000
	// MaxParts bounds the number of parts in a message. The host needs about a kilobyte of memory for each part, even
	// for an empty one.
	MaxParts = 20_000
)

// Error codes in addition to those of JSON-RPC 2.0.
const (
	// CodeResync answers a transform whose Base names an array that the host no longer has. The shim then sends the
	// whole array.
	CodeResync = -32010
	// CodeDisabled answers every session method while the host refuses to work, for example because it cannot store
	// anything. The error message gives the reason.
	CodeDisabled = -32011
	// CodeVersion answers an initialize with a different major protocol
	// version.
	CodeVersion = -32012
	// CodeTimeout answers a request that the host did not finish before its
	// deadline.
	CodeTimeout = -32013
	// CodeBusy answers a request if too many calls already wait or run.
	CodeBusy = -32014
	// CodeStopping answers a request that arrived while the host was stopping, or that was interrupted because the host
	// stopped. The next host can answer it.
	CodeStopping = -32015
	// CodeCancelled answers a request that $/cancelRequest withdrew. The number is the one that LSP uses.
	CodeCancelled = -32800
)

// Harness names the coding agent in which a shim runs.
type Harness string

// The harnesses.
const (
	HarnessOpenCode Harness = "opencode"
	// HarnessOpenCode2 is OpenCode from version 2 on. Its messages, its store and its plugin interface differ from
	// those of version 1.
	HarnessOpenCode2 Harness = "opencode2"
	HarnessPi        Harness = "pi"
)

var Harnesses = []Harness{HarnessOpenCode, HarnessOpenCode2, HarnessPi}

// Program returns the harness whose program, plugin and configuration files h uses. Both versions of OpenCode use the
// same ones, so the result for them is HarnessOpenCode.
func (h Harness) Program() Harness {
	if h == HarnessOpenCode2 {
		return HarnessOpenCode
	}
	return h
}

// Version is a protocol version.
type Version struct {
	Major int `json:"major"`
	Minor int `json:"minor"`
}

// InitializeParams says for which directory a client needs the host. A harness process has one connection, and sends initialize once
// for each of its plugin instances. The first call fixes the protocol version and the harness of the connection.
type InitializeParams struct {
	Protocol Version `json:"protocol"`
	// Client and ClientVersion name the program at the other end in messages to
	// people, for example "opencode-shim" or "magicctx-host status".
	Client        string `json:"client"`
	ClientVersion string `json:"clientVersion"`
	// Harness is absent for a client that only reads status.
	Harness        Harness `json:"harness,omitzero"`
	HarnessVersion string  `json:"harnessVersion,omitzero"`
	PID            int     `json:"pid,omitzero"`
	// Directory is the absolute path of the plugin instance's project
	// directory.
	Directory string `json:"directory,omitzero"`
	// Worktree is the root of the version control checkout that contains the
	// directory.
	Worktree string `json:"worktree,omitzero"`
	// KeptWarmSeconds is how long the harness keeps the cached prefix of an
	// idle session warm by sending requests. It is 0 if the harness does not do
	// that.
	KeptWarmSeconds int `json:"keptWarmSeconds,omitzero" jsonschema:"minimum=0"`
}

// InitializeResult describes the host, and lists what the shim must register
// with the harness.
type InitializeResult struct {
	Protocol    Version `json:"protocol"`
	HostVersion string  `json:"hostVersion"`
	HostPID     int     `json:"hostPid"`
	// StoreSchema is the schema version of the database.
	StoreSchema int `json:"storeSchema"`
	// Enabled is false if the host does no work for this directory. The shim must then forward nothing.
	Enabled bool `json:"enabled"`
	// Reason says why Enabled is false, in a sentence for the user.
	Reason string `json:"reason,omitzero"`
	// Trouble means that the host is disabled by a temporary fault and not by a setting. In this case the shim tells
	// the user, and initializes again before the next pass.
	Trouble bool `json:"trouble,omitzero"`
	// Warnings are problems in the configuration, each a sentence for the user.
	Warnings []string `json:"warnings,omitzero"`
	// Hooks lists the optional methods that this host wants the shim to call. The shim calls no other optional method.
	// The mandatory methods (session/transform, session/system, tool/execute, command/execute) are not listed.
	Hooks    []string            `json:"hooks"`
	Tools    []ToolDefinition    `json:"tools"`
	Commands []CommandDefinition `json:"commands"`
	Agents   []AgentDefinition   `json:"agents"`
	// TransformTimeoutMS bounds a session/transform, in ms.
	TransformTimeoutMS int `json:"transformTimeoutMs"`
	// ResyncTimeoutMS bounds a session/transform that carries the whole array,
	// in ms.
	ResyncTimeoutMS int `json:"resyncTimeoutMs"`
}

// ToolDefinition is a tool that the model may call, for example ctx_reduce.
type ToolDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is the JSON Schema of the arguments. The model sees it
	// verbatim.
	Parameters json.Value `json:"parameters"`
}

// CommandDefinition is a slash command for the user, for example /ctx-status.
type CommandDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// AgentDefinition is a hidden agent that the shim registers with the harness.
type AgentDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	// Model is "provider/model". Empty means the session's model.
	Model string   `json:"model,omitzero"`
	Tools []string `json:"tools"`
	Steps int      `json:"steps,omitzero"`
}

// TransformParams asks for the wire of one pass. The messages, a JSON array,
// are the attachment of the frame.
type TransformParams struct {
	Session   string `json:"session"`
	Directory string `json:"directory"`
	// Parent is the session that spawned this one. For a primary session, it is empty.
	Parent string `json:"parent,omitzero"`
	// Original is the session from which the harness has copied this one, if the harness reports it.
	Original string `json:"original,omitzero"`
	// Base is the revision of an earlier array. The current array begins with the first Keep messages of that array. If
	// Base is 0, the call is a resync: Keep is 0, and the attachment is the whole array.
	Base uint64 `json:"base"`
	Keep int    `json:"keep"`
	// Sent is the WireMutation.Wire of the session's last request. It is absent before the first request. It is also
	// absent if the last request did not carry the wire and the system prompt of the host's newest answer, for example
	// because the shim could not reach the host.
	Sent string `json:"sent,omitzero"`
	// Model is the model that the request goes to. It is absent if the harness's
	// user messages name their model.
	Model *Model `json:"model,omitzero"`
	// Typed maps message ids to the command lines that the user typed, for example "/review main". It contains a
	// message if the harness has replaced the typed line with the command's template. The shim sends a line only until
	// the host has answered a pass that contained it.
	Typed map[string]string `json:"typed,omitempty"`
	// Messages is the attachment: the messages after the first Keep ones,
	// reduced to the fields that the host uses.
	Messages json.Value `json:"-"`
}

// Verdict says what a pass may do to the cached prefix.
type Verdict string

const (
	Steady Verdict = "steady"
	Soft   Verdict = "soft"
	Hard   Verdict = "hard"
)

// WireMutation tells the shim how to turn the harness's array into the wire:
// remove the messages before Start, patch each remaining message that has a
// patch, and prepend the head. The shim keeps head and patches between passes.
type WireMutation struct {
	// Revision names the array of this request. The next request may use it as
	// Base.
	Revision uint64  `json:"revision"`
	Verdict  Verdict `json:"verdict" jsonschema:"enum=steady,enum=soft,enum=hard"`
	// Cause says why the pass is not steady, for example "pressure".
	Cause string `json:"cause,omitzero"`
	// Start is the index of the first message that stays on the wire.
	Start int `json:"start"`
	// Pinned lists the ids of messages before Start that nevertheless stay on the
	// wire. They come after the head, in their order.
	Pinned []string `json:"pinned,omitempty"`
	// Head holds the synthetic messages in front of the tail, in the harness's
	// format. It is absent if its bytes are the same as in the last answer.
	Head []json.Value `json:"head,omitempty"`
	// HeadCleared means that the head of an earlier answer must be removed.
	HeadCleared bool `json:"headCleared,omitzero"`
	// Edits maps a message id to the message's patch. It holds the patches that
	// changed since the last answer, or all patches after a resync.
	Edits map[string]Patch `json:"edits"`
	// Cleared lists the ids of messages whose patches from earlier answers must be removed.
	Cleared []string `json:"cleared,omitzero"`
	// Wire is an opaque token for the wire of this pass together with its system prompt. After a request with this
	// wire, the shim sends the token as TransformParams.Sent.
	Wire string `json:"wire,omitzero"`
}

// Patch is a sequence of operations on one raw message: RFC 6902 restricted to
// add, remove and replace, and our own operations prepend and append.
type Patch []PatchOp

// PatchOp is one operation. Path is a JSON Pointer (RFC 6901) into the message.
type PatchOp struct {
	Op   string `json:"op" jsonschema:"enum=add,enum=remove,enum=replace,enum=prepend,enum=append"`
	Path string `json:"path"`
	// Value is the new value. For prepend and append, it is a string to add before or after the string at Path. These
	// two operations keep answers small: with replace alone, the answer to a resync would have to repeat every tool
	// output only to add a tag or a note to it.
	Value json.Value `json:"value,omitzero"`
}

// Model identifies a model of a provider.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// SystemParams carries the system prompt of a request before it is sent.
type SystemParams struct {
	Session   string   `json:"session"`
	Directory string   `json:"directory"`
	Model     Model    `json:"model"`
	System    []string `json:"system"`
}

// SystemResult is the system prompt to send instead.
type SystemResult struct {
	// System is absent if the system prompt stays as it is.
	System []string `json:"system,omitzero"`
}

// EventParams forwards an event of the harness verbatim.
type EventParams struct {
	// Session is empty for an event that concerns no session.
	Session   string     `json:"session,omitzero"`
	Directory string     `json:"directory"`
	Event     json.Value `json:"event"`
	// Sent has the same meaning as in TransformParams. Only the event that ends an answer carries it. The next pass
	// reports the token, too, but the harness may be restarted before that pass.
	Sent string `json:"sent,omitzero"`
}

// TextCompleteParams carries a finished text of the model before the harness
// stores it.
type TextCompleteParams struct {
	Session string `json:"session"`
	Text    string `json:"text"`
	// Message is the id of the answer that the text belongs to. Sent is the token of the wire with which the request
	// for this answer was sent, as in TransformParams.
	Message string `json:"message,omitzero"`
	Sent    string `json:"sent,omitzero"`
}

// TextCompleteResult is the text to store.
type TextCompleteResult struct {
	Text string `json:"text"`
}

// ToolExecuteParams runs one of the host's tools. Not every harness checks the arguments against the tool's schema, so
// the host does.
type ToolExecuteParams struct {
	Session   string     `json:"session"`
	Directory string     `json:"directory"`
	Tool      string     `json:"tool"`
	CallID    string     `json:"callId"`
	Args      json.Value `json:"args"`
}

// ToolExecuteResult is the tool's output for the model.
type ToolExecuteResult struct {
	Title  string `json:"title,omitzero"`
	Output string `json:"output"`
}

// CommandExecuteParams runs one of the host's slash commands.
type CommandExecuteParams struct {
	// Harness names the session's harness. Only a client outside any harness sets it, for example the terminal UI of
	// OpenCode's plugin. A shim of that harness must be connected at that moment, with the directory open.
	Harness   Harness `json:"harness,omitzero"`
	Session   string  `json:"session"`
	Directory string  `json:"directory"`
	Command   string  `json:"command"`
	Arguments string  `json:"arguments"`
}

// CommandExecuteResult is the command's output for the user.
type CommandExecuteResult struct {
	Title   string `json:"title,omitzero"`
	Message string `json:"message"`
	Variant string `json:"variant" jsonschema:"enum=info,enum=success,enum=warning,enum=error"`
	// Stays means that the user needs time to read the message. The shim shows it in a place where it does not
	// disappear by itself, and never sends it to the model.
	Stays bool `json:"stays,omitzero"`
	// Page is the same message for a harness that can show dialogs. The dialog also offers the next commands as
	// choices.
	Page *Page `json:"page,omitzero"`
}

// A Page is a text with choices. If the user can do nothing further, it has no choices.
type Page struct {
	Text    string   `json:"text"`
	Choices []Choice `json:"choices"`
}

// A Choice is a command that a user may choose, for example "Archive" for "/ctx-menu memory 12 archive". No two choices
// of a page have the same label.
type Choice struct {
	Label string `json:"label"`
	// About explains the label.
	About     string `json:"about,omitzero"`
	Command   string `json:"command"`
	Arguments string `json:"arguments,omitzero"`
	// Confirm says what the command does. If it is set, the harness asks the user before it runs the command.
	Confirm string `json:"confirm,omitzero"`
	// Ask is a question that the harness asks the user before it runs the command. It appends the user's answer to the
	// command's arguments. Value is the text that the input field shows at first.
	Ask   string `json:"ask,omitzero"`
	Value string `json:"value,omitzero"`
}

// ShutdownParams are the parameters of shutdown, which ends the connection. The host first lets calls in flight
// finish, then answers and closes the connection.
type ShutdownParams struct {
	// Host asks the whole host to stop, so that a newer one can take its place.
	Host bool `json:"host,omitzero"`
	// Version is the version of that newer host, for the log.
	Version string `json:"version,omitzero"`
}

// CancelParams are the parameters of a notification that withdraws a request of the same connection.
type CancelParams struct {
	ID json.Value `json:"id"`
}

// Empty is the result of methods that only confirm.
type Empty struct{}
