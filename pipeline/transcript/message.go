package transcript

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/schema"
)

type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

type Message struct {
	// Key is the harness's message id, unique in a session, or "" for an unreadable message, which is sent unchanged.
	Key  string
	Role Role
	// Created and Completed are in Unix milliseconds, or 0 if unknown. In a forked session, the copy of a message has
	// the same Created.
	Created, Completed int64
	// KeyLasts means that the copy of the message in a forked session has the same key. This is true in Pi. OpenCode
	// gives each copy a new id.
	KeyLasts bool
	// Model is the model that wrote an assistant message. For a user message, it is the model that is asked to answer
	// it.
	Model schema.Model
	// Agent is the harness's agent that must answer a user message. Each agent has its own system prompt and tools.
	Agent string
	// Finish says how an assistant message ended.
	Finish Finish
	// Errored means that the harness attached an error to the message.
	Errored bool
	// Summary means that the harness itself wrote this message, in a compaction, to replace older messages. Its Usage is
	// empty: the harness reports the usage of the request that made the summary, and that request had a prompt of its own.
	Summary bool
	// Stays means that the message remains on the wire when a head replaces the messages around it, because it is not
	// part of the conversation. An example is a changed instruction of OpenCode 2.
	Stays bool
	// Nameless means that the harness gave the message no id. Its key is made from the key of the message before it, so
	// it may change. An example is OpenCode 2's reminder at the step limit.
	Nameless bool
	// Hidden means that the harness itself does not send the message to the provider.
	Hidden bool
	// Usage holds the token counts that the provider reported for this step, including the size of its prompt.
	Usage Usage
	// Tools says for each tool name whether the user message switches the tool on. It is nil if the message has no such
	// switches.
	Tools map[string]bool
	Parts []Part
}

type Finish uint8

const (
	// Unfinished: the answer has not ended, or the harness does not say how it ended.
	Unfinished Finish = iota
	// EndsTurn: the model has ended its turn.
	EndsTurn
	// EndsWithCalls: the model waits for the results of its calls.
	EndsWithCalls
	// EndsOtherwise: the answer ended for any other reason, for example because it reached its length limit.
	EndsOtherwise
)

// Usage holds the token counts of one step, as the provider reported them.
type Usage struct {
	// Input excludes the cached tokens.
	Input, Output, CacheRead, CacheWrite int
}

// Prompt returns the size of the step's prompt in tokens. 0 means that the provider did not report it.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite }

type Kind uint8

const (
	// Other parts are passed through and never opened.
	Other Kind = iota
	Text
	Reasoning
	Tool
	File
)

// An Origin says who wrote a text or a result. A message of the user can contain text from elsewhere: for example, the
// content of an attached file in OpenCode, or the output of a command in Pi. The zero value is FromHarness, so that no
// text is attributed to the user by mistake.
type Origin uint8

const (
	// FromHarness: the harness or a plugin wrote it, for example a reminder.
	FromHarness Origin = iota
	// FromUser: the user typed it.
	FromUser
	// FromAgent: a model wrote it.
	FromAgent
	// FromTool: it is the output of a tool or of a command.
	FromTool
	// FromFile: it is the content of a file that the user attached.
	FromFile
)

type Said struct {
	Origin Origin
	Text   string
}

// Said splits the text of a part by author. For example, a text part of a user message can consist of an attached file,
// an injected reminder and the words that the user typed.
func (p *Part) Said() []Said {
	switch {
	case p.Origin != FromUser:
		return []Said{{p.Origin, p.Text}}
	case p.Typed != "":
		return []Said{{FromUser, p.Typed}, {FromHarness, p.Text}}
	}
	var all []Said
	if p.Attached > 0 {
		all = append(all, Said{FromFile, p.Text[:p.Attached]})
	}
	for _, piece := range text.Pieces(p.Text[p.Attached:]) {
		origin := FromUser
		if piece.Injected {
			origin = FromHarness
		}
		all = append(all, Said{origin, piece.Text})
	}
	return all
}

// Letter returns the letter of an origin, for example "U" for the user.
func (o Origin) Letter() string {
	return [...]string{FromHarness: "H", FromUser: "U", FromAgent: "A", FromTool: "T", FromFile: "F"}[o]
}

// A Part is one part of a message. Its paths are JSON Pointers into the raw message.
type Part struct {
	// ID is the harness's part id. It is empty if the part has no stable id.
	ID     string
	Kind   Kind
	Origin Origin
	// Attached is the number of bytes at the start of a user's text that come from attached files. The harness puts
	// them before the user's words.
	Attached int
	// If the user typed a command, for example "/review main", the harness replaces that line with the command's
	// template. Typed is then the line, and Text is the template, which contains no words of the user.
	Typed string
	// Path leads to the part.
	Path string

	// Text is the content of a text or reasoning part, or the result of a tool arc.
	Text string
	// TextPath is the path of the string from which Text was read. It is "" if there is no such string, for example for
	// a tool without a result.
	TextPath string
	// Replaced means that the harness sends Text, a sentence of its own, in place of the tool's result. The provider would
	// not see a patch of the result, so TextPath is "". Original is the result, if the harness still has it.
	Replaced bool
	Original string
	// Hidden means that the harness does not send the part to the provider.
	Hidden bool
	// Compacts marks a part that a compaction or a compaction marker has added. The harness omits all older messages,
	// so the array begins with the message of this part.
	Compacts bool
	// StartsStep marks the beginning of an answer. If a message has two such parts, the provider gets two assistant
	// messages, with the first one's tool results between them.
	StartsStep bool

	// Signature is the provider's proof of a reasoning part, as raw metadata. It must be sent unchanged or not at all.
	Signature json.Value

	// Name, CallID, Input and InputPath belong to a tool arc.
	Name      string
	CallID    string
	Input     json.Value
	InputPath string
	// ResultPath is the path of a tool's result if the result is outside the part, and otherwise "".
	ResultPath string
	// IsError marks a result that reports a failure.
	IsError bool
	// Exited means that the tool call ran a command and that its ExitStatus is known. If the message from the shim
	// lacks the status, Exited is false.
	Exited     bool
	ExitStatus int
	// Attachments holds the files of a tool result; empty if it has none.
	Attachments     json.Value
	AttachmentsPath string

	// URL and Mime belong to a file.
	URL, Mime string
	// If Kind is Other and the provider sees the part, Raw holds its bytes.
	Raw json.Value
}

func (p *Part) HasResult() bool {
	return p.Kind == Tool && (p.TextPath != "" || p.Replaced || p.ResultPath != "")
}

type Codec interface {
	// Decode reads one raw message. It never fails: an unreadable message has no key, and an unreadable part has
	// the kind Other.
	Decode(raw json.Value) Message
	// Event reads one event of the harness.
	Event(raw json.Value) (Event, error)
	// TextPart returns a text part that replaces p.
	TextPart(p Part, text string) json.Value
	// ResultText returns the operations that replace the result of p with `text`, or nil if the provider would not see the
	// new text.
	ResultText(p Part, text string) schema.Patch
	// AddCall returns the operations that add a call with its result at the end of an answer. The model has not made
	// this call: the host invents it to show the model its todo list. In Pi and OpenCode 2, this is not possible, and
	// AddCall returns nil.
	AddCall(c SyntheticCall) schema.Patch
	// Head returns the messages of a head, in the harness's format.
	Head(h Head) []json.Value
	// UsageValue returns a usage in the harness's format.
	UsageValue(u Usage) json.Value
	// Vocabulary returns the names and habits of the harness.
	Vocabulary() *Vocabulary
}

type SyntheticCall struct {
	CallID, Tool, Output, Title string
	Input, Metadata             json.Value
}
