package indexing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	identity "github.com/magicctx/magicctx-host/internal/project"
	"github.com/magicctx/magicctx-host/internal/rawhistory"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

type Indexer struct {
	Index    *index.Index
	Reader   rawhistory.Reader
	Identify func(ctx context.Context, directory string) (string, error)
	// If LoadConfig is nil, Run reads no commits.
	LoadConfig func(schema.Harness, string) schema.Config
	// Known adds facts from the host's store to a session before it is read: the ordinals of its messages, and which
	// lines the user typed. Known may be nil.
	Known func(ctx context.Context, s *rawhistory.Session)

	// After each batch, the indexer pauses so that it uses only a share of the processor. The pause is Share times as
	// long as the batch took.
	Share  int
	rested time.Duration

	projects map[string]string // by directory
}

func (x *Indexer) rest(ctx context.Context, since time.Time) error {
	if x.Share == 0 {
		return nil
	}
	pause := time.Duration(x.Share) * time.Since(since)
	x.rested += pause
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pause):
		return nil
	}
}

// batchMessages bounds the messages that one transaction stores. So another process waits only briefly, and a cancelled
// run loses little.
const batchMessages = 500

const sliceMessages = 200

// A run begins with the last messages that the previous run read, because a model may have continued them since.
const again = 4

// Session reads the messages that the index lacks, and returns their number. It replaces changed messages, and
// deletes messages that are gone. After an error, the next run continues in the same place.
func (x *Indexer) Session(ctx context.Context, stored rawhistory.Stored, project string) (read int, err error) {
	codec, ok := transcript.CodecOf(string(stored.Harness))
	if !ok {
		return 0, fmt.Errorf("%w: %q", rawhistory.ErrUnknownHarness, stored.Harness)
	}
	w := writer{x: x, project: project}
	s := index.Session{Harness: string(stored.Harness), ID: stored.ID, Directory: stored.Directory, Source: stored.Source}
	err = x.Index.Update(ctx, func(tx *index.Tx) (err error) {
		if w.project == "" {
			if w.project, err = tx.ProjectOf(s.Harness, s.ID); err != nil {
				return err
			}
			w.project = cmp.Or(w.project, identity.OfDirectory(s.Directory))
		}
		s.Project = w.project
		w.state, err = tx.Session(s)
		return err
	})
	if err != nil || stored.Stamp != "" && w.state.Stamp == stored.Stamp {
		return 0, err
	}
	w.begin(codec)
	for {
		started := time.Now()
		n, err := x.read(ctx, stored, &w)
		read += n
		if err == nil && w.isCut {
			if err = x.rest(ctx, started); err == nil {
				continue
			}
		}
		if errors.Is(err, errRewritten) {
			err = x.Index.Update(ctx, func(tx *index.Tx) error { return tx.Clear(w.state.Row) })
			w.state.Through, w.state.Tail = 0, ""
			w.begin(codec)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return read, err
		}
		return read, x.Index.Update(ctx, func(tx *index.Tx) error { return tx.Finish(w.state.Row, stored.Stamp) })
	}
}

var errRewritten = errors.New("the session was rewritten")

// The method `read` decodes messages in one goroutine and stores them in another, because both take about equally long.
// The channel between them has no buffer, so few batches are in memory at the same time.
func (x *Indexer) read(ctx context.Context, stored rawhistory.Stored, w *writer) (read int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, done := make(chan []rawhistory.Message), make(chan error, 1)
	start, end := w.next, math.MaxInt
	restsInside := !stored.IsInDatabase() // a second read of a file would begin at its first byte again, so one read does all, with pauses inside
	if x.Share > 0 && !restsInside {
		end = start + sliceMessages - 1 // a read is short, because a harness cannot shorten the write-ahead log of its database during the read
	}
	go func() {
		defer close(batches)
		var batch []rawhistory.Message
		bytes := 0
		send := func() bool {
			select {
			case batches <- batch:
				batch, bytes = nil, 0
				return true
			case <-ctx.Done():
				return false
			}
		}
		extent, err := x.Reader.Read(ctx, stored.Session, start, end, func(m rawhistory.Message) bool {
			bytes += len(m.Raw)
			m.Raw = nil
			batch = append(batch, m)
			return len(batch) < batchMessages && bytes < maxBatchBytes || send()
		})
		if len(batch) > 0 {
			send()
		}
		w.isCut = extent.Last > end
		if w.isCut {
			w.next = end + 1
		}
		done <- err
	}()
	for batch := range batches {
		started := time.Now()
		if err = w.write(ctx, batch); err == nil && restsInside {
			err = x.rest(ctx, started)
		}
		if err != nil {
			cancel()
			break
		}
		read += len(batch)
	}
	readErr := <-done
	if err == nil {
		err = readErr
	}
	if err == nil && !w.isChecked {
		err = errRewritten
	}
	return read, err
}

// A batch ends with the message that brings it to this number of raw bytes. So it is longer by at most one message.
const maxBatchBytes = 4 << 20

type writer struct {
	x         *Indexer
	project   string
	state     index.State
	extractor extractor
	// isChecked means that the run has found the newest message of the previous run under the same ordinal. So the
	// session was not rewritten in between.
	isChecked bool
	// `next` is the ordinal at which the next read begins. isCut means that the last read stopped before the end of the
	// session.
	next  int
	isCut bool
}

func (w *writer) begin(codec transcript.Codec) {
	w.extractor = extractor{vocabulary: codec.Vocabulary()}
	w.next, w.isChecked = max(1, w.state.Through-again+1), w.state.Through == 0
}

func (w *writer) write(ctx context.Context, batch []rawhistory.Message) error {
	all := make([]index.Message, 0, len(batch))
	last := ""
	for _, m := range batch {
		last = ""
		if m.Decoded != nil {
			last = m.Decoded.Key
			all = append(all, w.extractor.message(m))
		}
		if m.Ordinal >= w.state.Through && !w.isChecked {
			if m.Ordinal != w.state.Through || last != w.state.Tail {
				return errRewritten
			}
			w.isChecked = true
		}
	}
	return w.x.Index.Update(ctx, func(tx *index.Tx) error {
		for i := range all {
			if err := tx.Put(w.state.Row, w.project, all[i]); err != nil {
				return err
			}
		}
		return tx.Read(w.state.Row, batch[len(batch)-1].Ordinal, last)
	})
}

// If the project is not known now, for example because the directory is gone, projectOf returns "".
func (x *Indexer) projectOf(ctx context.Context, directory string) string {
	known, ok := x.projects[directory]
	if ok {
		return known
	}
	known, err := x.Identify(ctx, directory)
	if err != nil {
		known = ""
	}
	if x.projects == nil {
		x.projects = map[string]string{}
	}
	x.projects[directory] = known
	return known
}
