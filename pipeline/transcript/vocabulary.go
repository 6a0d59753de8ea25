package transcript

import (
	"regexp"
	"strings"
)

// A Vocabulary holds the names and habits of one harness, as values. The code after the
// codecs reads these values, and does not know which harness it serves.
type Vocabulary struct {
	// Tools describes the tools that the rules know. Names are in lower case, without the prefix "mcp_".
	Tools map[string]ToolClass
	// TodoTool is the tool that writes the model's todo list, empty if the harness has none.
	TodoTool string
	// Compaction describes the harness's own compaction.
	Compaction CompactionVocabulary
	// StoresByTime means that the harness's store orders messages by the time of their
	// creation. Otherwise the store has the order of the array.
	StoresByTime bool
	// SendsEmptyText means that the harness sends some providers an answer with only
	// empty texts, as one empty text. Otherwise it leaves the answer out.
	SendsEmptyText bool
	// System says how to read the harness's system prompts.
	System SystemVocabulary
	// Paths lead to facts of a raw message.
	Paths Paths
}

type ToolClass struct {
	// Idempotent means that the tool only reads. A newer call with the same
	// arguments supersedes the older result, which can be dropped. Shells are not
	// idempotent: the model may compare two results of one command, for example a
	// test run before and after a fix.
	Idempotent bool
	// Shows means that the tool is called for its output, but is not idempotent. Examples are a shell and ctx_expand.
	Shows bool
	// File says what the tool does with the file in its arguments.
	File FileUse
	// Tier ranks the tool by the model's loss if the output is dropped: 1 is the greatest
	// loss, and 0 means that the tool has no rank.
	Tier int
}

type FileUse uint8

const (
	NoFile FileUse = iota
	// UsesFile: the tool reads the file, or changes a part of it. A patch may change
	// several files that no argument names.
	UsesFile
	// WritesFile: the arguments hold the file's whole new content.
	WritesFile
)

// Tool returns the description of a tool, the zero class if the vocabulary does not know it.
func (v *Vocabulary) Tool(name string) ToolClass { return v.Tools[ToolName(name)] }

func ToolName(name string) string { return strings.TrimPrefix(strings.ToLower(name), "mcp_") }

type SystemVocabulary struct {
	// Date finds the line with the date. This line changes the system prompt at midnight, and the provider then loses
	// the whole prefix. Date is nil if the system prompt has no date.
	Date *regexp.Regexp
	// OwnPrompts are the beginnings of the prompts of the harness's own agents (title, summary, compaction).
	// Requests of these agents have the session's id, but not its conversation.
	OwnPrompts []string
	// ComesFirst means that the harness makes the system prompt once for a turn, before the turn's first pass, and not
	// after each pass.
	ComesFirst bool
}

// DateIn returns the line of a text with the date, or "".
func (v *SystemVocabulary) DateIn(text string) string {
	if v.Date == nil {
		return ""
	}
	return v.Date.FindString(text)
}

// WithDate returns a text with its line of the date replaced by line.
func (v *SystemVocabulary) WithDate(text, line string) string {
	if v.Date == nil {
		return text
	}
	return v.Date.ReplaceAllLiteralString(text, line)
}

// Paths are JSON Pointers to facts of a raw message. A path is empty if the harness's messages do not have the fact.
type Paths struct {
	// UserProvider and AnswerProvider lead to the name of the provider in a user message and in an answer.
	UserProvider, AnswerProvider string
	// Tools leads to the tool switches of a user message.
	Tools string
	// Usage leads to the provider's report in an answer.
	Usage string
	// EventMessage leads to the raw message in an event that reports an answer.
	EventMessage string
	// Message leads to the message itself, if the raw message wraps it. A patch that removes it takes the message off
	// the wire.
	Message string
	// Results leads to the results in a raw message that wraps the message.
	Results string
}

// CompactionVocabulary describes the compaction of a harness. The harness sends one extra request for a summary, in
// which the conversation is plain text and each tool result is cut to 2,000 characters. Afterwards it keeps the
// summary and the newest messages: a quarter of the window, but at least LeastKept and at most MostKept tokens.
type CompactionVocabulary struct{ LeastKept, MostKept int }
