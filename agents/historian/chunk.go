package historian

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Range is a contiguous range of ordinals, both ends included.
type Range struct{ Start, End int }

func (r Range) String() string {
	if r.Start == r.End {
		return fmt.Sprint(r.Start)
	}
	return fmt.Sprintf("%d-%d", r.Start, r.End)
}

func (r Range) holds(ordinal int) bool { return r.Start <= ordinal && ordinal <= r.End }

// A Chunk is the range of messages that one run of the historian reads, as
// condensed text.
type Chunk struct {
	// Start and End are the first and the last ordinal.
	Start, End int
	// Text shows the messages, one block a line, for example
	// "[2-5] A: Looking. / TC: List files".
	Text string
	// Lines has one entry for each message of the chunk, in order. An ordinal
	// whose row in the harness's store cannot be read has none.
	Lines []Line
	// ToolOnly lists the ranges in which nobody says anything.
	ToolOnly []Range
	// HasMore says that more messages could be summarised after this chunk.
	HasMore bool
}

// A Line is one message of a chunk.
type Line struct {
	Ordinal int
	// Key is the harness's id of the message.
	Key string
}

// check reports an error if the lines are not those of the chunk.
func (c *Chunk) check() error {
	if len(c.Lines) == 0 {
		return errors.New("the chunk has no messages")
	}
	if first, last := c.Lines[0].Ordinal, c.Lines[len(c.Lines)-1].Ordinal; first != c.Start || last != c.End {
		return fmt.Errorf("the chunk is %s, but its lines are %s", Range{c.Start, c.End}, Range{first, last})
	}
	if !slices.IsSortedFunc(c.Lines, func(a, b Line) int { return a.Ordinal - b.Ordinal }) {
		return errors.New("the lines of the chunk are not in order")
	}
	return nil
}

// at returns the index of an ordinal's line, or of the next line if the ordinal
// has none.
func (c *Chunk) at(ordinal int) int {
	return sort.Search(len(c.Lines), func(i int) bool { return c.Lines[i].Ordinal >= ordinal })
}

// key returns the key of the message with an ordinal.
func (c *Chunk) key(ordinal int) (string, bool) {
	i := c.at(ordinal)
	if i == len(c.Lines) || c.Lines[i].Ordinal != ordinal {
		return "", false
	}
	return c.Lines[i].Key, true
}

// after returns the first ordinal behind the given one that has a message. It is
// End+1 if there is none.
func (c *Chunk) after(ordinal int) int {
	if i := c.at(ordinal + 1); i < len(c.Lines) {
		return c.Lines[i].Ordinal
	}
	return c.End + 1
}

// before returns the last ordinal ahead of the given one that has a message. It
// is Start-1 if there is none.
func (c *Chunk) before(ordinal int) int {
	if i := c.at(ordinal); i > 0 {
		return c.Lines[i-1].Ordinal
	}
	return c.Start - 1
}

// A Role says who wrote a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// A Message is one raw message of the range that a chunk condenses. Anchors are
// taken from it, and extractive compartments are written from it.
type Message struct {
	Ordinal int
	Role    Role
	// Texts are the text parts that somebody wrote, without injected notices.
	Texts []string
	Calls []Call
}

// A Call is a tool call and its result.
type Call struct {
	Tool      string
	Arguments json.Value
	Output    string
	IsError   bool
	// Writes says that the tool changes the files that its arguments name. Only
	// the harness's vocabulary knows it.
	Writes bool
}

// within returns the messages of a range.
func within(messages []Message, r Range) []Message {
	var inside []Message
	for _, m := range messages {
		if r.holds(m.Ordinal) {
			inside = append(inside, m)
		}
	}
	return inside
}
