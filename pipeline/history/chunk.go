package history

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/pipeline/text"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Chunk is the condensed text of the messages that one run of the historian reads. docs/history.md has an example.
type Chunk struct {
	// Range is the range of messages that the chunk covers. If it covers none, End is less than Start.
	chronicle.Range
	// Blocks are the parts of the text. Together they cover the range without gaps. If the range has no text, there are
	// no blocks.
	Blocks []Block
	// Lines has one entry for each ordinal of the range. The key of an unreadable message is empty.
	Lines []chronicle.Place
	// ToolOnly lists the ranges whose messages hold tool calls and no words.
	ToolOnly []chronicle.Range
	// Tokens is the size of the text.
	Tokens int
	// CommitClusters counts how often the model has reported commits. If several blocks of the model follow each other,
	// they count only once, even if each of them names a commit.
	CommitClusters int
	// HasMore means that more messages follow, which did not fit into the budget.
	HasMore bool
	// IsCut means that Truncate has shortened the text.
	IsCut bool
}

// A Block is a part of a chunk's text. Usually it is one line that shows consecutive messages of one author, for
// example "[2-3] A: Looking." If a single message contains words of several authors, its block has one line for each of
// them.
type Block struct {
	chronicle.Range
	Text string
}

// Text returns the text of the chunk.
func (c *Chunk) Text() string {
	lines := make([]string, len(c.Blocks))
	for i := range c.Blocks {
		lines[i] = c.Blocks[i].Text
	}
	return strings.Join(lines, "\n")
}

// ReadChunk condenses the messages from start up to end (exclusive) to a text of at most budget tokens. If the first
// block alone is larger than the budget, the chunk consists of this block (see Truncate).
//
// A message with neither text nor calls is called noise, for example an answer that contains only reasoning. Noise has
// no line of its own. But it must count as read, so the next block covers it or, at the end of the range, the last
// block. If the whole range is noise, the chunk covers it and has no blocks.
func ReadChunk(m *Messages, start, end, budget int, count func(string) int) Chunk {
	r := reader{budget: budget, ceiling: blockCeiling(budget), count: count, next: start}
	r.chunk.Range = chronicle.Range{Start: start, End: start - 1}
	messages := m.Between(start, end)
	for i := range messages {
		if !r.read(&messages[i]) {
			break
		}
	}
	r.flush()
	r.finish(messages)
	return r.chunk
}

// blockCeiling returns the maximum size of a block, in tokens. A chunk contains a block whole or not at all, so a turn
// of hundreds of steps must become several blocks.
func blockCeiling(budget int) int { return max(500, budget/4) }

type reader struct {
	chunk           Chunk
	budget, ceiling int
	count           func(string) int
	// `next` is the first ordinal that no block covers. `noise` is the ordinal of the newest noise message (see
	// ReadChunk).
	next, noise int
	current     *block
	isFull      bool
	// `inCluster` means that CommitClusters has already been increased for the current sequence of blocks by the model.
	// `lastLetter` is the author of the last block, for example "A".
	inCluster  bool
	lastLetter string
}

type voice struct {
	letter string
	parts  []string
	hashes []string
}

type block struct {
	voices   []voice
	last     int
	tokens   int
	hasWords bool
}

// The method `read` returns false if the budget is used up.
func (r *reader) read(m *Message) bool {
	voices, hasWords := condense(m)
	if len(voices) == 0 {
		r.noise = m.Ordinal
		return true
	}
	tokens := 0
	for _, v := range voices {
		for _, p := range v.parts {
			tokens += r.count(p)
		}
	}
	if c := r.current; c != nil && (!c.goesOn(voices) || c.tokens+tokens > r.ceiling) {
		if r.flush(); r.isFull {
			return false
		}
	}
	if r.current == nil {
		r.current = &block{}
	}
	c := r.current
	for _, v := range voices {
		c.add(v, hasWords)
	}
	c.last, c.tokens, c.hasWords = m.Ordinal, c.tokens+tokens, c.hasWords || hasWords
	return true
}

func (c *block) goesOn(voices []voice) bool {
	return len(c.voices) == 1 && len(voices) == 1 && c.voices[0].letter == voices[0].letter
}

func (c *block) add(v voice, hasWords bool) {
	n := len(c.voices)
	if n == 0 || c.voices[n-1].letter != v.letter {
		c.voices = append(c.voices, voice{letter: v.letter})
		n++
	}
	to := &c.voices[n-1]
	if hasWords && v.letter == agent {
		v.parts = to.nameCommits(v.parts)
	}
	to.parts = append(to.parts, v.parts...)
}

func (v *voice) nameCommits(parts []string) []string {
	joined := strings.Join(parts, " / ")
	v.hashes = commitsIn(joined, v.hashes)
	if clean := withoutCommits(joined, v.hashes); clean != "" {
		return []string{clean}
	}
	return nil
}

// flush adds the current block to the chunk. If the block does not fit into the budget, the chunk ends before it.
func (r *reader) flush() {
	c := r.current
	r.current = nil
	if c == nil || r.isFull {
		return
	}
	b := Block{Range: chronicle.Range{Start: r.next, End: c.last}}
	lines := make([]string, len(c.voices))
	for i, v := range c.voices {
		lines[i] = fmt.Sprintf("[%s] %s:", b.Range, v.letter)
		if len(v.hashes) > 0 {
			lines[i] += " commits: " + strings.Join(v.hashes, ", ")
		}
		lines[i] += " " + strings.Join(v.parts, " / ")
	}
	b.Text = strings.Join(lines, "\n")
	tokens := r.count(b.Text)
	if r.chunk.Tokens+tokens > r.budget && r.chunk.Tokens > 0 {
		r.isFull = true
		return
	}
	r.chunk.Blocks = append(r.chunk.Blocks, b)
	r.chunk.Tokens += tokens
	r.next = c.last + 1
	if !c.hasWords {
		r.addToolOnly(b.Range)
	}
	r.countCluster(c)
}

func (r *reader) addToolOnly(b chronicle.Range) {
	if n := len(r.chunk.ToolOnly); n > 0 && r.chunk.ToolOnly[n-1].End+1 == b.Start {
		r.chunk.ToolOnly[n-1].End = b.End
		return
	}
	r.chunk.ToolOnly = append(r.chunk.ToolOnly, b)
}

func (r *reader) countCluster(c *block) {
	first := &c.voices[0]
	if first.letter != r.lastLetter {
		r.inCluster = false
	}
	r.lastLetter = first.letter
	if first.letter == agent && len(first.hashes) > 0 && !r.inCluster {
		r.inCluster = true
		r.chunk.CommitClusters++
	}
}

// finish extends the chunk over noise at the end of the range, and fills Lines. `messages` are the readable messages of
// the range.
func (r *reader) finish(messages []Message) {
	c := &r.chunk
	c.HasMore = r.isFull
	c.End = r.next - 1
	if !r.isFull && r.noise >= r.next {
		c.End = r.noise
		if n := len(c.Blocks); n > 0 {
			c.Blocks[n-1].widen(c.End)
			if t := len(c.ToolOnly); t > 0 && c.ToolOnly[t-1].End == r.next-1 {
				c.ToolOnly[t-1].End = c.End
			}
		}
	}
	at := 0
	for ordinal := c.Start; ordinal <= c.End; ordinal++ {
		line := chronicle.Place{Ordinal: ordinal}
		if at < len(messages) && messages[at].Ordinal == ordinal {
			line.Key = messages[at].Key
			at++
		}
		c.Lines = append(c.Lines, line)
	}
}

func (b *Block) widen(end int) {
	b.End = end
	lines := strings.Split(b.Text, "\n")
	for i, line := range lines {
		_, rest, _ := strings.Cut(line, "]")
		lines[i] = fmt.Sprintf("[%s]%s", b.Range, rest)
	}
	b.Text = strings.Join(lines, "\n")
}

// CheckCoverage returns an error unless each message of the chunk is in exactly one block. If a message were in no
// block, the summary would say nothing about it.
func (c *Chunk) CheckCoverage() error {
	if len(c.Blocks) == 0 {
		return nil
	}
	next := c.Start
	for i := range c.Blocks {
		if b := c.Blocks[i].Range; b.Start != next || b.End < b.Start {
			return fmt.Errorf("the chunk omits message %d: block %s follows", next, b)
		}
		next = c.Blocks[i].End + 1
	}
	if next != c.End+1 {
		return fmt.Errorf("the chunk's text ends at message %d, and the chunk at %d", next-1, c.End)
	}
	if len(c.Lines) != c.End-c.Start+1 {
		return errors.New("the chunk does not list each of its messages")
	}
	return nil
}

// cutMarker ends a text that was shortened.
const cutMarker = "\n[The rest of this text is left out, because it is too long.]"

// Truncate cuts the text of a chunk whose only block is larger than the budget. The chunk still covers the whole
// message, and ctx_expand can show all of it.
func (c *Chunk) Truncate(budget int, count func(string) int) {
	if len(c.Blocks) != 1 || c.Tokens <= budget {
		return
	}
	b := &c.Blocks[0]
	b.Text = fitting(b.Text, budget-count(cutMarker), count) + cutMarker
	c.Tokens, c.IsCut = count(b.Text), true
}

func fitting(s string, budget int, count func(string) int) string {
	fits, tooLong := 0, len(s)+1
	for tooLong-fits > 1 {
		middle := fits + (tooLong-fits)/2
		if count(strings.ToValidUTF8(s[:middle], "")) <= budget {
			fits = middle
		} else {
			tooLong = middle
		}
	}
	return strings.ToValidUTF8(s[:fits], "")
}

var agent = transcript.FromAgent.Letter()

// condense returns the words of a message, grouped by author. If the message has no words, condense returns its calls,
// in short form. It attributes them to the model, even in a message of the user.
func condense(m *Message) (voices []voice, hasWords bool) {
	add := func(letter, part string) {
		if part == "" {
			return
		}
		if n := len(voices); n == 0 || voices[n-1].letter != letter {
			voices = append(voices, voice{letter: letter})
		}
		v := &voices[len(voices)-1]
		v.parts = append(v.parts, part)
	}
	for _, t := range m.Texts {
		add(authorOf(m.Role).Letter(), collapse(t))
	}
	for _, o := range m.Others {
		add(o.Origin.Letter(), condensed(o))
	}
	if len(voices) > 0 {
		return voices, true
	}
	for i := range m.Calls {
		if m.Calls[i].Asks {
			add(agent, m.Calls[i].summary())
		}
	}
	return voices, false
}

// maxOther limits the characters that a chunk shows of a text that neither the user nor the model has written, for
// example of an attached file. A chunk never shows a tool's output.
const maxOther = 1_000

func condensed(o transcript.Said) string {
	if o.Origin == transcript.FromAgent {
		return collapse(o.Text)
	}
	runes := []rune(collapse(strings.ToValidUTF8(o.Text[:min(len(o.Text), 8*maxOther)], "")))
	if len(runes) <= maxOther && len(o.Text) <= 8*maxOther {
		return string(runes)
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:min(len(runes), maxOther)]), utf8.RuneCountInString(o.Text))
}

// collapse replaces each sequence of white space with one blank. The result must be one line for every reader. So
// collapse treats each character that a reader might take for a line end as white space, too.
func collapse(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return text.IsJSSpace(r) || r == '\u0085' || r >= '\x1c' && r <= '\x1e'
	}), " ")
}
