package transcript

import (
	"regexp"
	"strings"
)

// A Vocabulary holds the names and habits of one harness as values. Only the codecs know the harness itself. All other
// code reads these values.
type Vocabulary struct {
	// Tools describes the tools that the rules know. Names are in lower case, without the prefix "mcp_".
	Tools map[string]ToolClass
	// TodoTool is the tool that writes the model's todo list, or "".
	TodoTool string
	// Compaction describes the harness's own compaction.
	Compaction CompactionVocabulary
	// StoresByTime means that the harness's store orders messages by creation time. Otherwise it keeps the order of the
	// array.
	StoresByTime bool
	// SendsEmptyText concerns an answer that consists only of empty texts. If it is true, the harness sends such an
	// answer to some providers, as one empty text. If it is false, the harness always leaves it out.
	SendsEmptyText bool
	// System says how to read the harness's system prompts.
	System SystemVocabulary
	// Paths lead to facts of a raw message.
	Paths Paths
}

type ToolClass struct {
	// Idempotent means that the tool only reads. If a newer call has the same arguments, the older result can be
	// dropped. A shell is not idempotent: the model may compare two results of one command, for example of a test
	// before and after a fix.
	Idempotent bool
	// Shows means that the model calls the tool to see its output, although the tool is not idempotent. An example is a
	// shell.
	Shows bool
	// File says what the tool does with the file in its arguments.
	File FileUse
	// Tier says how much the model needs the tool's output: 1 is the most, and 0 is unknown.
	Tier int
}

type FileUse uint8

const (
	NoFile FileUse = iota
	// UsesFile: the tool reads the file, or changes a part of it. A patch may change files that no argument names.
	UsesFile
	// WritesFile: the arguments contain the file's whole new content.
	WritesFile
)

// Tool returns the description of a tool, or the zero class for an unknown tool.
func (v *Vocabulary) Tool(name string) ToolClass { return v.Tools[ToolName(name)] }

func ToolName(name string) string { return strings.TrimPrefix(strings.ToLower(name), "mcp_") }

type SystemVocabulary struct {
	// Date matches the line with the date. When the date changes at midnight, the system prompt changes with it, and
	// the provider can use nothing of its cache. Date is nil if the system prompt has no date.
	Date *regexp.Regexp
	// OwnPrompts are the beginnings of the system prompts of the harness's own agents, for example for titles. Requests
	// of these agents have the session's id, but not its conversation.
	OwnPrompts []string
	// ComesFirst means that the harness makes the system prompt once for each turn, before the turn's first pass.
	// Otherwise the harness makes it after each pass.
	ComesFirst bool
}

// DateIn returns the line of a text with the date, or "".
func (v *SystemVocabulary) DateIn(text string) string {
	if v.Date == nil {
		return ""
	}
	return v.Date.FindString(text)
}

// WithDate replaces the line with the date in a text.
func (v *SystemVocabulary) WithDate(text, line string) string {
	if v.Date == nil {
		return text
	}
	return v.Date.ReplaceAllLiteralString(text, line)
}

// Paths are JSON Pointers to fields of a raw message. A path is "" if the harness's messages do not have the field.
type Paths struct {
	// UserProvider and AnswerProvider lead to the name of the provider in a user message and in an answer.
	UserProvider, AnswerProvider string
	// Tools leads to the tool switches of a user message.
	Tools string
	// Usage leads to the provider's report in an answer.
	Usage string
	// EventMessage leads to the raw message in an event that reports an answer.
	EventMessage string
	// Some raw messages wrap the message that the provider gets. Message leads to the wrapped message, and Results to
	// its results. A patch that removes Message keeps the message from being sent.
	Message string
	Results string
}

// CompactionVocabulary describes how a harness compacts a session. The harness asks a model for a summary in an extra
// request, which contains the conversation as plain text, with each tool result cut to 2,000 characters. Afterwards it
// keeps the summary and the newest messages: a quarter of the window, but at least LeastKept and at most MostKept
// tokens.
type CompactionVocabulary struct{ LeastKept, MostKept int }
