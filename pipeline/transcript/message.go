package transcript

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// Role is who a message is from.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one decoded entry of the harness's message array.
type Message struct {
	// Key is the harness's message id, unique in a session; empty for a
	// message that could not be read, which then passes through untouched.
	Key  string
	Role Role
	// Created and Completed are Unix milliseconds, 0 when unknown.
	Created, Completed int64
	// Model answered (assistant) or is asked (user).
	Model schema.Model
	// Finish is why an assistant message ended; empty while it has not.
	Finish string
	// Errored says that the harness attached an error to the message.
	Errored bool
	// Hidden says that the harness itself keeps the message from the provider.
	Hidden bool
	// Usage is what the provider reported for this step.
	Usage Usage
	// Tools is the request's tool switches on a user message, if it had any.
	Tools map[string]bool
	Parts []Part
}

// Usage is the token counts of one step, as the provider reported them.
type Usage struct {
	// Input excludes the cached tokens.
	Input, Output, CacheRead, CacheWrite int
}

// Prompt returns the size of the step's prompt in tokens; 0 means not reported.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

// Kind is what a part is to the pipeline.
type Kind uint8

// The kinds of parts.
const (
	// Other parts are passed through and never opened.
	Other Kind = iota
	Text
	Reasoning
	Tool
	File
)

// A Part is one part of a message. Its paths are JSON Pointers into the raw message.
type Part struct {
	// ID is the harness's part id; empty where it has none that lasts.
	ID   string
	Kind Kind
	// Path leads to the part.
	Path string

	// Text is the content of a text or reasoning part, and the result of a
	// tool arc.
	Text string
	// TextPath leads to the string that Text was read from; empty when there
	// is none, as with a tool that has no result yet.
	TextPath string
	// Hidden says that the harness keeps the part from the provider.
	Hidden bool

	// Signature is the provider's proof on a reasoning part (raw metadata); a
	// signed part reaches the wire byte-identical or not at all.
	Signature json.Value

	// Name and CallID belong to a tool arc, and so do Input and InputPath.
	Name      string
	CallID    string
	Input     json.Value
	InputPath string
	// IsError marks a result that reports a failure.
	IsError bool
	// Attachments is a tool result's files; empty when it has none.
	Attachments     json.Value
	AttachmentsPath string

	// URL and Mime belong to a file.
	URL, Mime string
	// Raw is the bytes of an Other part that the provider sees.
	Raw json.Value
}

// HasResult reports whether a tool arc is complete.
func (p *Part) HasResult() bool { return p.Kind == Tool && p.TextPath != "" }

// A Codec reads and writes the messages of one harness.
type Codec interface {
	// Decode reads one raw message. It never fails: what it cannot read
	// becomes a message without key, or a part of kind Other.
	Decode(raw json.Value) Message
	// TextPart returns a part that holds text, to stand in place of p.
	TextPart(p Part, text string) json.Value
	// ToolPart returns a finished call that the model never made.
	ToolPart(c SyntheticCall) json.Value
	// Session returns the session id of a raw message, "" when it has none.
	Session(raw json.Value) string
}

// A SyntheticCall is a finished tool call that the model never made.
type SyntheticCall struct {
	CallID, Tool, Output, Title string
	Input, Metadata             json.Value
}
