package rawhistory

import (
	"context"
	"errors"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

type Session struct {
	Harness schema.Harness
	ID      string
	// Directory is the session's project. If it is empty, Pi's files are searched for in all projects.
	Directory string
	// Anchors are the messages with known ordinals, in the order of their ordinals.
	Anchors []chronicle.Place
	// Typed holds, by message key, the command lines that the user typed, for example "/review main". The
	// harness's store holds only the texts with which the harness replaced them.
	Typed map[string]string
}

// Know adds anchors: keys[0] has the ordinal start, keys[1] has start+1, and so on.
func (s *Session) Know(start int, keys []string) {
	s.Anchors = append(s.Anchors, history.AnchorsOf(start, keys)...)
}

// A Message is one message of a session, as the harness has stored it.
type Message struct {
	Ordinal int
	// Raw is the message as the shim would send it, or nil if the stored message is unreadable.
	Raw json.Value
	// If Raw is nil, Decoded is nil, too.
	Decoded *transcript.Message
}

// An Extent is the range of a session's messages that can be read.
type Extent struct {
	// First and Last are ordinals, or 0 if there is no message.
	First, Last int
	Path        string
}

// Missing returns an error that explains why none of the messages from start to end could be read.
func (e Extent) Missing(start, end int) error {
	asked, absent, deleted := fmt.Sprintf("messages %d to %d", start, end), "there are no", "were deleted"
	if start == end {
		asked, absent, deleted = fmt.Sprintf("message %d", start), "there is no", "was deleted"
	}
	switch {
	case e.Last == 0:
		return errors.New("this session has no messages yet")
	case start > e.Last || end < e.First:
		return fmt.Errorf("%s %s; messages %d to %d can be shown", absent, asked, e.First, e.Last)
	}
	return fmt.Errorf("%s %s; messages %d to %d can be shown", asked, deleted, e.First, e.Last)
}

var ErrUnknownSession = errors.New("unknown session")

// The functions of a Reader are safe for concurrent use.
type Reader struct {
	// Env looks up an environment variable. Some variables say where a harness keeps its store, for example
	// XDG_DATA_HOME.
	Env func(string) string
}

// ErrUnknownHarness means that no reader knows the harness's store.
var ErrUnknownHarness = errors.New("the harness has no store that this program can read")

// Read calls `yield` with each message from the ordinal `start` to the ordinal `end`, in order, until `yield` returns
// false. It also returns the extent of the whole session. It reads one message at a time, so a long session needs
// little memory.
func (r Reader) Read(ctx context.Context, s Session, start, end int, yield func(Message) bool) (Extent, error) {
	var extent Extent
	var err error
	switch s.Harness {
	case schema.HarnessOpenCode:
		extent, err = r.readOpenCode(ctx, s, start, end, yield)
	case schema.HarnessOpenCode2:
		extent, err = r.readOpenCode2(ctx, s, start, end, yield)
	case schema.HarnessPi:
		extent, err = r.readPi(ctx, s, start, end, yield)
	default:
		format := logFormats[s.Harness]
		if format == nil {
			err = fmt.Errorf("%w: %q", ErrUnknownHarness, s.Harness)
			break
		}
		extent, err = r.readLog(ctx, format, s, start, end, yield)
	}
	if err != nil {
		return extent, fmt.Errorf("read the messages of session %s: %w", s.ID, err)
	}
	return extent, nil
}

// Deliver does the same as Read for a caller that already has the entries. To get the raw message of entry i, it calls
// `read`, which returns nil if the message is unreadable.
func Deliver(ctx context.Context, codec transcript.Codec, entries []history.Entry, anchors []chronicle.Place, start, end int, read func(i int) (json.Value, error), yield func(Message) bool) (Extent, error) {
	ordinals := history.Number(entries, anchors)
	extent := extentOf(ordinals)
	for i, n := range ordinals {
		if n == 0 || n < start || n > end {
			continue
		}
		if ctx.Err() != nil {
			return extent, context.Cause(ctx)
		}
		raw, err := read(i)
		if err != nil {
			return extent, fmt.Errorf("message %d: %w", n, err)
		}
		if !yield(MessageOf(codec, n, raw)) {
			break
		}
	}
	return extent, nil
}

// If the codec cannot read the raw message, MessageOf returns an unreadable message.
func MessageOf(codec transcript.Codec, ordinal int, raw json.Value) Message {
	if raw == nil {
		return Message{Ordinal: ordinal}
	}
	m := codec.Decode(raw)
	if m.Key == "" {
		return Message{Ordinal: ordinal}
	}
	return Message{Ordinal: ordinal, Raw: raw, Decoded: &m}
}

func extentOf(ordinals []int) (e Extent) {
	for _, n := range ordinals {
		if n > 0 && e.First == 0 {
			e.First = n
		}
		e.Last = max(e.Last, n)
	}
	return e
}
