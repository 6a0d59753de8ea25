package rawhistory

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/magicctx/magicctx-host/internal/json"
)

// The longest lines contain images as base64. Pi has already scaled these images down to a few megabytes.
const maxLine = 64 << 20

var errLongLine = errors.New("longer than 64 MiB, which no message is")

// Pi 0.74 to 1.5 writes this version of session files.
const piVersion = 3

type piFile struct {
	file io.ReaderAt
	// entries are the lines after the header, even unreadable ones.
	entries []piEntry
}

type piEntry struct {
	span
	kind piKind
	// `parent` is the index of the entry before this one on its branch, or -1.
	parent int
	// `role` is the role of the entry's message. `base` is the key of this message, without the number that
	// distinguishes it from other messages with the same key. Both are empty if the entry has no message.
	role, base string
	// A context_edit entry replaces the message of another entry, or removes it (`removes`). `target` is the index of
	// that other entry.
	target  int
	removes bool
}

// A piKind says how an entry affects the messages of its session.
type piKind uint8

const (
	// piSilent entries have no message, for example a change of the model.
	piSilent piKind = iota
	piMessage
	piEdit
	// A piBroken line is unreadable. It gets a number as if it were a message, so that later messages keep their
	// ordinals. But if its beginning shows that it contains no message, it gets no number.
	piBroken
)

type piLine struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	ParentID  *string    `json:"parentId"`
	Timestamp string     `json:"timestamp"`
	Version   int        `json:"version"` // only the header has a version
	Message   json.Value `json:"message"`
	// TargetID and Replacement are members of a context_edit.
	TargetID    string     `json:"targetId"`
	Replacement json.Value `json:"replacement"`
	// The next members belong to a custom_message or a branch_summary.
	CustomType json.Value `json:"customType"`
	Content    json.Value `json:"content"`
	Display    json.Value `json:"display"`
	Details    json.Value `json:"details"`
	Summary    string     `json:"summary"`
	FromID     json.Value `json:"fromId"`
}

func indexPi(ctx context.Context, file io.ReaderAt, size int64, session string) (*piFile, error) {
	f := &piFile{file: file}
	byID := map[string]int{}
	isEmpty := true
	err := eachLine(ctx, file, size, func(number int, line []byte, at span) error {
		isEmpty = false
		if number == 1 {
			return checkHeader(line, session)
		}
		f.add(line, at, byID)
		return nil
	})
	if err == nil && isEmpty {
		err = errors.New("the session file is empty")
	}
	return f, err
}

func checkHeader(line []byte, session string) error {
	var header piLine
	switch err := json.Unmarshal(line, &header); {
	case err != nil || header.Type != "session":
		return errors.New("the file does not begin with the header of a session of Pi")
	case header.ID != session:
		return fmt.Errorf("the file is that of session %q", header.ID)
	case header.Version < piVersion:
		return fmt.Errorf("the session file has version %d, from before Pi 0.74; open the session once in Pi, which brings it to version %d", header.Version, piVersion)
	}
	return nil
}

func (f *piFile) add(line []byte, at span, byID map[string]int) {
	e := piEntry{span: at, parent: -1, target: -1}
	index := len(f.entries)
	var l piLine
	err := json.Unmarshal(line, &l)
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		return
	case err != nil:
		e.guess(line)
		e.parent = index - 1
	case l.ID == "": // no entry can name a line without an id as its parent
		return
	default:
		if l.ParentID != nil {
			e.parent = f.parentOf(*l.ParentID, byID)
		}
		e.describe(&l, byID)
		byID[l.ID] = index
	}
	f.entries = append(f.entries, e)
}

// parentOf returns the index of the entry with this id, or -1. If no entry has the id, but the newest entry is
// unreadable, the id may be in the unreadable line. So parentOf returns the newest entry.
func (f *piFile) parentOf(id string, byID map[string]int) int {
	if i, ok := byID[id]; ok {
		return i
	}
	if last := len(f.entries) - 1; last >= 0 && f.entries[last].kind == piBroken {
		return last
	}
	return -1
}

// The beginning of an unreadable line often still shows the type of its entry and the role of its message. brokenKind
// finds both.
var brokenKind = regexp.MustCompile(`^\{"type":"([a-z_]+)"(?:.{0,400}?"message":\{"role":"([A-Za-z]+)")?`)

// The method `guess` sets the role of an unreadable line. If the beginning of the line shows that it was no message,
// the role is silentRole.
func (e *piEntry) guess(line []byte) {
	e.kind = piBroken
	m := brokenKind.FindSubmatch(line)
	if m == nil {
		return
	}
	switch e.role = string(m[2]); {
	case string(m[1]) == "message" && e.role != "system", string(m[1]) == "custom_message":
	default:
		e.role = silentRole
	}
}

const silentRole = "system"

func (e *piEntry) describe(l *piLine, byID map[string]int) {
	if l.Type == "context_edit" {
		e.kind = piEdit
		if i, ok := byID[l.TargetID]; ok {
			e.target = i
		}
		e.removes = len(l.Replacement) == 0 || l.Replacement.Kind() == 'n'
		return
	}
	if message := messageIn(l); message != nil {
		e.kind = piMessage
		e.role, e.base = piKeyOf(message)
		if e.role == silentRole { // Pi 0.87 and newer stores its system prompt as a message
			e.kind = piSilent
		}
	}
}

// messageIn returns the message that Pi makes from an entry, or nil. For a compaction, it returns nil. Pi's
// array shows a summary there, but the reader shows the summarised messages themselves.
func messageIn(l *piLine) json.Value {
	switch {
	case l.Type == "message" && len(l.Message) > 0:
		return l.Message
	case l.Type == "custom_message":
		return object("role", json.Quote("custom"), "customType", l.CustomType, "content", l.Content, "display", l.Display,
			"details", l.Details, "timestamp", unixMilliseconds(l.Timestamp))
	case l.Type == "branch_summary" && l.Summary != "":
		return object("role", json.Quote("branchSummary"), "summary", json.Quote(l.Summary), "fromId", l.FromID,
			"timestamp", unixMilliseconds(l.Timestamp))
	}
	return nil
}

// The function `object` returns a JSON object. `members` alternates between names and values. Members with an empty
// value are left out.
func object(members ...any) json.Value {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(members); i += 2 {
		value, _ := members[i+1].(json.Value)
		if len(value) == 0 {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, _ := members[i].(string)
		b.Write(json.Quote(name))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (f *piFile) line(i int) (piLine, error) {
	var l piLine
	content := make([]byte, f.entries[i].length)
	if _, err := f.file.ReadAt(content, f.entries[i].offset); err != nil {
		return l, fmt.Errorf("read the line at byte %d again: %w", f.entries[i].offset, err)
	}
	return l, json.Unmarshal(content, &l)
}

type lineReader struct {
	in     *bufio.Reader
	offset int64
	line   []byte
}

// The method `next` returns a line without its line break, and the line's offset in the file. The line is valid until
// the next call. If the last line has no line break, Pi may still be writing it, so it is not returned. At the end of
// the file, the error is io.EOF.
func (r *lineReader) next() (line []byte, offset int64, err error) {
	r.line, offset = r.line[:0], r.offset
	for {
		part, err := r.in.ReadSlice('\n')
		r.offset += int64(len(part))
		r.line = append(r.line, part...)
		switch {
		case len(r.line) > maxLine:
			return nil, offset, errLongLine
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, offset, err
		}
		return r.line[:len(r.line)-1], offset, nil
	}
}
