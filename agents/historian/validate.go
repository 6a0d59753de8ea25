package historian

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// A Class is a kind of mistake in an invalid answer. Its text is for people.
type Class string

const (
	NoCompartments      Class = "it contains no usable summary"
	InvalidRange        Class = "a summary ends before its start"
	NotInChunk          Class = "a summary covers other messages"
	Overlap             Class = "two summaries overlap"
	Gap                 Class = "messages before or between the summaries are not covered"
	UnprocessedOutside  Class = "the rest that it leaves starts outside the messages"
	UnprocessedMismatch Class = "the rest that it leaves does not follow its last summary"
	Uncovered           Class = "the last messages are not covered"
	TooLong             Class = "its summaries are longer than the messages"
)

// An Invalid describes an answer that cannot be published. Its texts are logged, so they name only ordinals and no
// content.
type Invalid struct {
	Class  Class
	Detail string // for the model, in the words of the prompt; the repair prompt quotes it
}

func (e *Invalid) Error() string { return "the answer of the model is invalid: " + string(e.Class) }

func invalid(class Class, format string, args ...any) error {
	return &Invalid{Class: class, Detail: fmt.Sprintf(format, args...)}
}

// In each tier, the texts of all compartments together may exceed the length of the chunk by at most summarySlack
// bytes. The summary of a short chunk may need more words than the chunk, but a summary much longer than its source
// saves nothing.
const summarySlack = 4_096

// Validate returns the compartments of a draft with their keys. They must follow each other without a gap, from the
// first message of the chunk to its last message, or to the message before UnprocessedFrom.
//
// If the messages in a gap between two compartments have no words, Validate extends the first compartment over them. At
// either end of the chunk, it closes a gap only if the messages cannot be read. For any other gap, it returns an
// *Invalid, because these messages would disappear without a summary.
func Validate(d Draft, chunk *Chunk) ([]chronicle.Compartment, error) {
	if len(d.Compartments) == 0 {
		return nil, invalid(NoCompartments, "no usable compartments in the answer%s", reasons(d.Skipped))
	}
	found := slices.Clone(d.Compartments)
	for i := range found {
		if err := checkRange(&found[i], chunk); err != nil {
			return nil, err
		}
	}
	if err := join(found, chunk, d.Skipped); err != nil {
		return nil, err
	}
	if err := joinEnd(&found[len(found)-1], d, chunk); err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Keys = chunk.keys(found[i].Range())
		if chunk.isUnreadable(found[i].Range()) {
			return nil, invalid(NotInChunk, "no message of the compartment %v can be read", found[i].Range())
		}
	}
	return found, checkLength(found, chunk)
}

func reasons(skipped []string) string {
	if len(skipped) == 0 {
		return ""
	}
	return ". These were skipped: " + strings.Join(skipped, "; ")
}

func checkRange(c *chronicle.Compartment, chunk *Chunk) error {
	switch shown := chunk.Range; {
	case c.End < c.Start:
		return invalid(InvalidRange, "a compartment ends at %d, ahead of its start %d", c.End, c.Start)
	case !shown.Holds(c.Start):
		return invalid(NotInChunk, "a compartment starts at %d; the messages are %v", c.Start, shown)
	case !shown.Holds(c.End):
		return invalid(NotInChunk, "a compartment ends at %d; the messages are %v", c.End, shown)
	}
	return nil
}

// join closes the gaps that may be closed. Any other gap or overlap is an error.
func join(found []chronicle.Compartment, chunk *Chunk, skipped []string) error {
	next := chunk.Start
	for i := range found {
		c := &found[i]
		if c.Start < next {
			return invalid(Overlap, "the compartment %v overlaps the one before it; it should start at %d", c.Range(), next)
		}
		if gap := (chronicle.Range{Start: next, End: c.Start - 1}); c.Start > next {
			switch {
			case i == 0 && chunk.isUnreadable(gap):
				c.Start = gap.Start
			case i > 0 && chunk.isSilent(gap):
				found[i-1].End = gap.End
			default:
				return invalid(Gap, "no compartment covers %v%s", gap, reasons(skipped))
			}
		}
		next = c.End + 1
	}
	return nil
}

// joinEnd extends the last compartment over the messages after it, if they cannot be read. If other messages follow,
// the answer must leave them to the next run: its unprocessed_from must be the first of them.
func joinEnd(last *chronicle.Compartment, d Draft, chunk *Chunk) error {
	next := last.End + 1
	if d.UnprocessedFrom == 0 && next <= chunk.End && chunk.isUnreadable(chronicle.Range{Start: next, End: chunk.End}) {
		last.End, next = chunk.End, chunk.End+1
	}
	switch left := d.UnprocessedFrom; {
	case left == 0 && next <= chunk.End:
		return invalid(Uncovered, "no compartment covers %v, and unprocessed_from does not leave it to the next run%s", chronicle.Range{Start: next, End: chunk.End}, reasons(d.Skipped))
	case left == 0 || left == next:
		return nil
	case left < chunk.Start || left > chunk.End+1:
		return invalid(UnprocessedOutside, "unprocessed_from is %d; the messages are %d-%d", left, chunk.Start, chunk.End)
	case next > chunk.End:
		return invalid(UnprocessedMismatch, "unprocessed_from is %d, but the compartments cover all messages", left)
	default:
		return invalid(UnprocessedMismatch, "unprocessed_from is %d, but the first message without a compartment is %d", left, next)
	}
}

// checkLength checks every tier, because the head shows each tier at some age of the compartment. A fourth tier of a
// megabyte would push out all other history.
func checkLength(found []chronicle.Compartment, chunk *Chunk) error {
	for tier := range found[0].Tiers {
		length := 0
		for i := range found {
			length += len(found[i].Tiers[tier])
		}
		if limit := len(chunk.Text) + summarySlack; length > limit {
			return invalid(TooLong, "the p%d tiers have %d bytes together; a summary may have %d at most", tier+1, length, limit)
		}
	}
	return nil
}

// If at most discardSlack messages follow the last compartment, its topic probably continues after the chunk.
const discardSlack = 2

// If the last compartment ends near the end of the chunk, discardLast removes it. The next run then summarises its
// messages together with the messages that follow. A single compartment stays, because each run must make progress.
func discardLast(found []chronicle.Compartment, chunk *Chunk) ([]chronicle.Compartment, bool) {
	last := len(found) - 1
	if last < 1 || chunk.End-found[last].End > discardSlack {
		return found, false
	}
	return found[:last], true
}
