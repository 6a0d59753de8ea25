package pitest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Record is a line that Pi prints in rpc mode: the response to a command, an event of the session, or a request of an
// extension.
type Record struct {
	Type string `json:"type"`

	ID      string     `json:"id"`
	Command string     `json:"command"`
	Success bool       `json:"success"`
	Error   string     `json:"error"`
	Data    json.Value `json:"data"`

	Message Message `json:"message"`

	// WillRetry is set in a compaction_end if Pi will repeat the request afterwards.
	WillRetry bool `json:"willRetry"`

	Raw json.Value `json:"-"`
}

// In an event, the member "message" is an object. In other records, it is a text. So UnmarshalJSON decodes it only in a
// message_end.
func (r *Record) UnmarshalJSON(line []byte) error {
	var only struct {
		Type    string     `json:"type"`
		ID      json.Value `json:"id"`
		Command string     `json:"command"`
		Success bool       `json:"success"`
		Error   json.Value `json:"error"`
		Data    json.Value `json:"data"`
		Message json.Value `json:"message"`

		WillRetry json.Value `json:"willRetry"`
	}
	if err := json.Unmarshal(line, &only); err != nil {
		return err
	}
	r.Type, r.Command, r.Success, r.Data = only.Type, only.Command, only.Success, slices.Clone(only.Data)
	_ = json.Unmarshal(only.ID, &r.ID)       // fails only in other records, which need no id
	_ = json.Unmarshal(only.Error, &r.Error) // the same holds for the error
	r.WillRetry = string(only.WillRetry) == "true"
	if r.Type == "message_end" {
		if err := json.Unmarshal(only.Message, &r.Message); err != nil {
			return err
		}
	}
	r.Raw = slices.Clone(json.Value(line))
	return nil
}

type records struct {
	// mu guards all fields below. Whenever one of them changes, the channel `news` is closed and replaced. This wakes
	// every caller that waits in `await`.
	mu      sync.Mutex
	all     []Record
	isEnded bool
	err     error
	news    chan struct{}
}

func newRecords() *records { return &records{news: make(chan struct{})} }

// The method `read` collects the records that Pi prints. In rpc mode, Pi must print nothing else, so any other line is
// an error.
func (r *records) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			r.add(nil, err)
			return
		}
		var record Record
		if err := json.Unmarshal(line, &record); err != nil {
			err = fmt.Errorf("pi wrote %.200q: %w", line, err)
			r.add(nil, err)
			_, _ = io.Copy(io.Discard, in) // a process would hang if its output were not read
			return
		}
		r.add(&record, nil)
	}
}

func (r *records) add(record *Record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record != nil {
		r.all = append(r.all, *record)
	} else {
		r.isEnded, r.err = true, err
	}
	close(r.news)
	r.news = make(chan struct{})
}

func (r *records) since(at int) []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all[at:])
}

func (r *records) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

// ErrEnded means that Pi has ended without the record for which await was waiting.
var ErrEnded = errors.New("pi has ended")

// The method `await` returns the first record from position `at` on for which isWanted returns true, and the position
// after this record.
func (r *records) await(ctx context.Context, at int, isWanted func(Record) bool) (Record, int, error) {
	for {
		r.mu.Lock()
		for ; at < len(r.all); at++ {
			if isWanted(r.all[at]) {
				defer r.mu.Unlock()
				return r.all[at], at + 1, nil
			}
		}
		isEnded, err, news := r.isEnded, r.err, r.news
		r.mu.Unlock()
		if isEnded {
			return Record{}, at, fmt.Errorf("%w: %w", ErrEnded, err)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return Record{}, at, ctx.Err()
		}
	}
}
