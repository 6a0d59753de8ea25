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
	// StoresByTime means that the harness's store orders messages by creation time, and not in the order of the array.
	StoresByTime bool
	// SendsEmptyText means that the harness sends an answer of only empty texts to some providers, as one empty text.
	// Otherwise it does not send such an answer.
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
	// Shows means that the model needs the tool's output, although the tool is not idempotent, for example a shell.
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
	// Date finds the line with the date. When the date changes at midnight, the system prompt changes, and the provider
	// has nothing of the prefix cached. Date is nil if the system prompt has no date.
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
	// Message leads to the message if the raw message is a wrapper. If a patch removes it, the message is not sent.
	Message string
	// Results leads to the results in such a wrapper.
	Results string
}

// CompactionVocabulary describes the compaction of a harness. For a summary, the harness sends an extra request with
// the conversation as plain text, in which each tool result is cut to 2,000 characters. It then keeps the summary and
// the newest messages: a quarter of the window, but at least LeastKept and at most MostKept tokens.
type CompactionVocabulary struct{ LeastKept, MostKept int }
