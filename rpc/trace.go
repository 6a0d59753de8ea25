package rpc

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type Sender string

// FromShim and FromHost name the program that sent a frame. FromRecorder marks a frame that neither program sent. The
// recorder itself writes such a frame before a frame of the shim, to save the host's state at that moment (see
// Recorder.ExportFrom).
const (
	FromShim     Sender = "shim"
	FromHost     Sender = "host"
	FromRecorder Sender = "recorder"
)

// A TraceFrame is one line of a trace, with its time in Unix ms.
type TraceFrame struct {
	At   int64      `json:"at"`
	From Sender     `json:"from"`
	Body json.Value `json:"body"`
	// Most frames have no attachment. A session/transform, for example, has the messages as its attachment.
	Attachment json.Value `json:"attachment,omitzero"`
	// The array of a resync often begins with the same messages as the session's last array. To save space, the
	// recorder leaves these messages out of Attachment. Kept is their number.
	Kept int `json:"kept,omitzero"`
}

// A Recorder writes each frame to a trace before the frame is passed on. If a frame makes a program crash, the frame is
// the last line of the trace.
type Recorder struct {
	clock clock.Clock
	log   *slog.Logger
	dial  Dial // if it is nil, only the frames are recorded
	known exportedState
	limit int64 // the largest size of the trace, in bytes

	// mu guards the fields below, so that lines do not mix.
	mu      sync.Mutex
	file    *os.File
	arrays  recordedArrays
	written int64
	isEnded bool // whether the trace has ended, because a write failed or the trace is full
}

// These limits bound the size of traces on disk, because a user may forget that traces are on.
const (
	// MaxRecordedBytes limits one trace to a size that a replay can read. The longest sessions that we recorded, with
	// 5,000 messages, need a fifth of it.
	MaxRecordedBytes = maxTraceBytes / 4
	// MaxTracesBytes limits all traces of a directory together. Eight traces of the largest size fit.
	MaxTracesBytes = 8 * MaxRecordedBytes
)

// NewRecorder starts a trace in dir, with the name <unix ms>-<pid>.jsonl. Only the user may read the file, because a
// trace contains whole conversations.
func NewRecorder(dir string, c clock.Clock, log *slog.Logger) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if err := removeOldTraces(dir, MaxTracesBytes-MaxRecordedBytes); err != nil {
		log.Warn("old traces are not removed", "directory", dir, "cause", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%d-%d.jsonl", c.Now(), os.Getpid()))
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return &Recorder{clock: c, log: log, file: file, limit: MaxRecordedBytes, arrays: recordedArrays{}, known: exportedState{hasRows: map[string]bool{}}}, nil
}

// traceName matches the names that NewRecorder gives. Other files in the directory belong to the user.
var traceName = regexp.MustCompile(`^\d{13}-\d+\.jsonl$`)

// removeOldTraces removes the oldest traces, until the remaining ones have at most `limit` bytes together.
func removeOldTraces(dir string, limit int64) error {
	entries, err := os.ReadDir(dir) // ReadDir sorts by name, and so by time
	if err != nil {
		return err
	}
	for _, entry := range slices.Backward(entries) {
		if !traceName.MatchString(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if limit -= info.Size(); limit < 0 {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// record adds a frame to the trace. If this fails, it ends the trace and logs a warning, but the connection goes on.
func (r *Recorder) record(from Sender, f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isEnded {
		return
	}
	line := TraceFrame{At: r.clock.Now(), From: from, Body: traced(f.body)}
	if f.attachment != nil {
		line.Attachment = traced(f.attachment)
	}
	var m message
	if json.Unmarshal(f.body, &m) == nil {
		switch {
		case from == FromShim && m.Method != nil && *m.Method == schema.MethodInitialize && hasNoHarness(m.Params):
			r.discard()
			return
		case from == FromShim && m.Method != nil && *m.Method == schema.MethodTransform:
			r.arrays.record(&line, &m)
		case from == FromHost && m.Method == nil:
			r.arrays.answered(&m)
		}
	}
	r.write(line)
}

// hasNoHarness reports whether a client only shows the status, for example the sidebar of OpenCode. Such a client sends
// no requests of a session, so its trace could not be replayed.
func hasNoHarness(initialize json.Value) bool {
	var p schema.InitializeParams
	return json.Unmarshal(initialize, &p) == nil && p.Harness == ""
}

// The caller holds mu.
func (r *Recorder) discard() {
	r.isEnded = true
	if err := errors.Join(r.file.Close(), os.Remove(r.file.Name())); err != nil {
		r.log.Warn("a trace without requests stays", "file", r.file.Name(), "cause", err)
	}
}

func (r *Recorder) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isEnded
}

// write appends a line to the trace. If this fails, it ends the trace, but the connection goes on. The caller holds mu.
func (r *Recorder) write(line TraceFrame) {
	data, err := json.Marshal(line)
	if err == nil && r.written+int64(len(data)) >= r.limit {
		err = fmt.Errorf("%w: a trace has at most %d MiB", ErrTraceTooLarge, r.limit>>20)
	}
	if err == nil {
		_, err = r.file.Write(append(data, '\n'))
	}
	if err != nil {
		r.isEnded = true
		_ = r.file.Truncate(r.written) // a reader also accepts a trace that ends within a line
		r.log.Warn("trace ends here", "file", r.file.Name(), "cause", err)
		return
	}
	r.written += int64(len(data)) + 1
}

// Forward copies one direction of a connection until its end. A normal end is not an error. If rec is not nil, Forward
// records every frame before it copies the frame.
func Forward(ctx context.Context, to io.Writer, from io.Reader, rec *Recorder, sender Sender) error {
	err := forward(ctx, to, from, rec, sender)
	if err != nil && IsEnd(err) {
		return nil
	}
	return err
}

func forward(ctx context.Context, to io.Writer, from io.Reader, rec *Recorder, sender Sender) error {
	if rec == nil {
		_, err := io.Copy(to, from)
		return err
	}
	r := bufio.NewReaderSize(from, readBufferBytes)
	for {
		f, err := readFrame(r, new(reservation))
		if err != nil {
			return err
		}
		if sender == FromShim {
			rec.export(ctx, f)
		}
		rec.record(sender, f)
		if err := writeFrame(to, f); err != nil {
			return err
		}
	}
}

// The function `traced` returns b unchanged if it is valid JSON. Otherwise it returns b as a JSON string.
func traced(b []byte) json.Value {
	var v json.Value
	if json.Unmarshal(b, &v) != nil {
		return json.Quote(string(b))
	}
	return v
}

func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

var gzipMagic = "\x1f\x8b"

var (
	// ErrTruncated means that a part of a compressed trace was lost.
	ErrTruncated = errors.New("the compressed file breaks off")
	// ErrTraceTooLarge means that reading a trace would take too much memory.
	ErrTraceTooLarge = errors.New("the trace is too large; record a shorter session")
)

// A trace may come from anybody, and one MB of gzip can contain a GB. These limits bound the memory of a reader. Real
// traces stay far below them: gzip makes them only 17 times smaller.
const (
	maxTraceBytes  = 1 << 30
	maxTraceFrames = 1 << 20
	// maxTracedBody bounds the body of a frame. A frame of the recorder can contain a whole body of the host, so it may
	// be larger than any other frame.
	maxTracedBody = 2 * schema.MaxBodyBytes
	// A compressed trace may unpack to freeTraceBytes, or to maxTraceRatio times its compressed size, whichever is
	// more.
	freeTraceBytes = 64 << 20
	maxTraceRatio  = 100
)

// A boundedReader reads a trace, and fails with ErrTraceTooLarge if the trace is too large. packed counts the
// compressed bytes. It is nil for a trace without compression.
type boundedReader struct {
	r      io.Reader
	packed *countingReader
	read   int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.read += int64(n)
	switch {
	case b.read > maxTraceBytes:
		return 0, fmt.Errorf("%w: more than %d MiB", ErrTraceTooLarge, maxTraceBytes>>20)
	case b.packed != nil && b.read > max(freeTraceBytes, maxTraceRatio*b.packed.read):
		return 0, fmt.Errorf("%w: it unpacks to more than %d times its size", ErrTraceTooLarge, maxTraceRatio)
	case b.packed != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return n, ErrTruncated
	}
	return n, err
}

type countingReader struct {
	r    io.Reader
	read int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	return n, err
}

// ReadTrace yields the frames of a plain or gzip trace in order, up to the first error. If the recording program was
// killed while it wrote a line, the error is io.ErrUnexpectedEOF. If the compressed file is cut off, the error is
// ErrTruncated.
func ReadTrace(r io.Reader) iter.Seq2[TraceFrame, error] {
	return func(yield func(TraceFrame, error) bool) {
		packed := &countingReader{r: r}
		in := bufio.NewReaderSize(packed, readBufferBytes)
		bounded := &boundedReader{r: in}
		if magic, _ := in.Peek(len(gzipMagic)); string(magic) == gzipMagic {
			zipped, err := gzip.NewReader(in)
			if err != nil {
				yield(TraceFrame{}, fmt.Errorf("read trace: %w", err))
				return
			}
			bounded.r, bounded.packed = zipped, packed
		}
		decoder := json.NewDecoder(bufio.NewReaderSize(bounded, readBufferBytes))
		for n := 1; ; n++ {
			if n > maxTraceFrames {
				yield(TraceFrame{}, fmt.Errorf("read trace: %w: more than %d frames", ErrTraceTooLarge, maxTraceFrames))
				return
			}
			value, err := decoder.ReadValue()
			if errors.Is(err, io.EOF) {
				return
			}
			var f TraceFrame
			if err == nil {
				// The decoder reuses its buffer.
				err = json.Unmarshal(value.Clone(), &f)
			}
			if err == nil && f.From != FromShim && f.From != FromHost && f.From != FromRecorder {
				err = fmt.Errorf("unknown sender %q", f.From)
			}
			if err == nil && (len(f.Body) > maxTracedBody || len(f.Attachment) > schema.MaxAttachmentBytes) {
				err = fmt.Errorf("%w: a frame has at most %d MiB, and %d MiB of messages", ErrTraceTooLarge, maxTracedBody>>20, schema.MaxAttachmentBytes>>20)
			}
			if err != nil {
				yield(TraceFrame{}, fmt.Errorf("read trace: frame %d: %w", n, err))
				return
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}
