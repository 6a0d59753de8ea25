package historian

import (
	"fmt"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

// A Chunk is the range of messages that one run of the historian reads, as condensed text.
type Chunk struct {
	chronicle.Range
	// Text is the condensed text, one block per line, for example "[2-5] A: Looking. / TC: List files".
	Text string
	// Lines has one entry for each message of the chunk, in order. The key of an unreadable message is "".
	Lines []chronicle.Place
	// ToolOnly lists the ranges in which neither the user nor the model wrote any words.
	ToolOnly []chronicle.Range
}

func (c *Chunk) check() error {
	if len(c.Lines) == 0 || len(c.Lines) != c.End-c.Start+1 {
		return fmt.Errorf("the chunk %v has %d lines", c.Range, len(c.Lines))
	}
	for i, line := range c.Lines {
		if line.Ordinal != c.Start+i {
			return fmt.Errorf("the line of message %d stands at the place of message %d", line.Ordinal, c.Start+i)
		}
	}
	if c.isUnreadable(c.Range) {
		return fmt.Errorf("no message of the chunk %v can be read", c.Range)
	}
	return nil
}

// The method `keys` returns the keys of the messages in a range. The key of an unreadable message is "".
func (c *Chunk) keys(r chronicle.Range) []string {
	keys := make([]string, 0, r.End-r.Start+1)
	for _, line := range c.Lines[r.Start-c.Start : r.End-c.Start+1] {
		keys = append(keys, line.Key)
	}
	return keys
}

// isSilent reports whether a range has only tool calls and unreadable messages.
func (c *Chunk) isSilent(r chronicle.Range) bool {
	for _, line := range c.Lines[r.Start-c.Start : r.End-c.Start+1] {
		isTool := slices.ContainsFunc(c.ToolOnly, func(quiet chronicle.Range) bool { return quiet.Holds(line.Ordinal) })
		if line.Key != "" && !isTool {
			return false
		}
	}
	return true
}

// isUnreadable reports whether no message of a range can be read.
func (c *Chunk) isUnreadable(r chronicle.Range) bool {
	return !slices.ContainsFunc(c.keys(r), func(key string) bool { return key != "" })
}

type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one raw message from the range of a chunk. The historian looks for anchors in it, and writes extractive
// compartments from it.
type Message struct {
	Ordinal int
	Role    Role
	// Texts were written by the author named in Role.
	Texts []string
	// Others are texts of other authors, for example the content of a file that the user attached. The historian treats
	// them like outputs of tools.
	Others []string
	Calls  []Call
}

type Call struct {
	Tool      string
	Arguments json.Value
	Output    string
	IsError   bool
	// Writes means that the tool changes the files named in its arguments.
	Writes bool
}

func (m *Message) Tokens() int {
	size := 0
	for _, text := range slices.Concat(m.Texts, m.Others) {
		size += tokens.Count(text)
	}
	for _, c := range m.Calls {
		size += tokens.Count(string(c.Arguments)) + tokens.Count(c.Output)
	}
	return size
}

func within(messages []Message, r chronicle.Range) []Message {
	var inside []Message
	for _, m := range messages {
		if r.Holds(m.Ordinal) {
			inside = append(inside, m)
		}
	}
	return inside
}
