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

// An Indexer reads sessions into an index.
type Indexer struct {
	Index  *index.Index
	Reader rawhistory.Reader
	// Identify finds the project of a directory, see project.Identify.
	Identify func(ctx context.Context, directory string) (string, error)
	// LoadConfig tells Run the configuration of a directory. If it is nil, Run reads no commits.
	LoadConfig func(schema.Harness, string) schema.Config
	// Known adds to a session what the store knows of it: the ordinals of messages, and typed lines. It may be nil.
	Known func(ctx context.Context, s *rawhistory.Session)

	// Share bounds the work in the background: after each batch, the indexer rests for Share times as long as the batch
	// took. 0 means that it does not rest.
	Share int
	// rested is the time for which the indexer has rested so far.
	rested time.Duration

	projects map[string]string // by directory
}

// rest rests after work that began at a time.
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

// A transaction holds at most batchMessages, so that another process waits for a moment only, and a cancelled run
// has lost little.
const batchMessages = 500

// sliceMessages is the number of messages that a host reads at a time.
const sliceMessages = 200

// again is how many messages before the end of the last run are read again: a model may have written the last of
// them on.
const again = 4

// Session reads the messages of a session that the index lacks, and returns how many messages it has read. Messages
// that changed since are replaced, and messages that are gone are deleted. After an error, the next run goes on where
// this one ended.
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

// errRewritten: the newest message that was read before is gone or has another ordinal.
var errRewritten = errors.New("the session was rewritten")

// read reads the messages of a session from those on that the index has last. Reading and decoding takes about as
// long as writing, so both run side by side. The channel bounds the memory.
func (x *Indexer) read(ctx context.Context, stored rawhistory.Stored, w *writer) (read int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, done := make(chan []rawhistory.Message), make(chan error, 1)
	start, end := w.next, math.MaxInt
	restsInside := !stored.IsInDatabase() // a file is read from its beginning each time
	if x.Share > 0 && !restsInside {
		end = start + sliceMessages - 1 // a harness cannot shorten the log of its database while somebody reads
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

// maxBatchBytes bounds the raw messages that a run holds in memory at a time, besides one message.
const maxBatchBytes = 4 << 20

// A writer writes the messages of one session.
type writer struct {
	x         *Indexer
	project   string
	state     index.State
	extractor extractor
	// isChecked means that the newest message that was read before is still where it was.
	isChecked bool
	// next is the ordinal from which the next read begins, and isCut means that the last one did not reach the end.
	next  int
	isCut bool
}

// begin begins with the newest messages that were read before.
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

// projectOf returns the project of a directory, or "" if it is not known now, for example because the directory is
// gone.
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
