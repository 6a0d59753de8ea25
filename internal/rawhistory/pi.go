package rawhistory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

func (r Reader) readPi(ctx context.Context, s Session, start, end int, yield func(Message) bool) (Extent, error) {
	path, err := r.findPiFile(ctx, s)
	if err != nil {
		return Extent{}, err
	}
	file, size, err := openPlain(path)
	if err != nil {
		return Extent{}, err
	}
	defer file.Close()
	extent, err := readSessionFile(ctx, file, size, s, start, end, yield)
	extent.Path = path
	if err != nil {
		return extent, fmt.Errorf("%s: %w", path, err)
	}
	return extent, nil
}

func readSessionFile(ctx context.Context, file io.ReaderAt, size int64, s Session, start, end int, yield func(Message) bool) (Extent, error) {
	f, err := indexPi(ctx, file, size, s.ID)
	if err != nil {
		return Extent{}, err
	}
	branch := f.branch()
	edits := f.edits(branch)
	steps := f.join(branch, edits)
	entries := make([]history.Entry, len(steps))
	for i := range steps {
		entries[i].Key = steps[i].key
	}
	return Deliver(ctx, transcript.WithTyped(transcript.Pi{}, s.Typed), entries, s.Anchors, start, end, func(i int) (json.Value, error) { return f.step(steps[i], edits) }, yield)
}

// The method `branch` returns the indexes of the entries on the path from the root to the leaf, oldest first. The leaf
// is the newest readable entry. If an entry's parent is missing, the path begins with that entry.
func (f *piFile) branch() (path []int) {
	leaf := len(f.entries) - 1
	for leaf >= 0 && f.entries[leaf].kind == piBroken {
		leaf--
	}
	for i := leaf; i >= 0; i = f.entries[i].parent {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

func (f *piFile) edits(branch []int) map[int]int {
	newest := map[int]int{}
	for _, i := range branch {
		if e := &f.entries[i]; e.kind == piEdit && e.target >= 0 {
			newest[e.target] = i
		}
	}
	return newest
}

// A piStep is one message as the Pi shim sends it. The step of an answer includes the tool results that directly follow
// the answer.
type piStep struct {
	key string // empty if the message is unreadable
	// `message` is the index of the message's entry, and `results` contains the indexes of the entries with its tool
	// results.
	message int
	results []int
}

// The method `join` turns the entries of a branch into steps, as the shim's function join does
// (adapters/pi-shim/src/steps.ts). If tool results follow an unreadable line, the line may have been the answer with
// their calls. So these results belong to the step of the unreadable line.
func (f *piFile) join(branch []int, edits map[int]int) (steps []piStep) {
	seen := map[string]int{}
	takesResults := false
	for _, i := range branch {
		e := &f.entries[i]
		if edit, ok := edits[i]; ok && f.entries[edit].removes {
			continue
		}
		switch {
		case e.kind == piBroken && e.role == silentRole:
			continue
		case e.kind != piMessage && e.kind != piBroken:
			continue
		case e.role == "toolResult" && takesResults:
			if e.kind == piMessage {
				last := &steps[len(steps)-1]
				last.results = append(last.results, i)
			}
			continue
		}
		step := piStep{message: i}
		if e.kind == piMessage {
			step.key = numbered(f.keyOf(i, edits), seen)
		}
		steps = append(steps, step)
		takesResults = e.kind == piBroken || e.role == "assistant"
	}
	return steps
}

func (f *piFile) keyOf(i int, edits map[int]int) string {
	if _, edited := edits[i]; edited {
		if message, err := f.message(i, edits); err == nil {
			_, key := piKeyOf(message)
			return key
		}
	}
	return f.entries[i].base
}

// numbered makes a key unique among the keys in seen.
func numbered(key string, seen map[string]int) string {
	seen[key]++
	if n := seen[key]; n > 1 {
		return key + "#" + strconv.Itoa(n)
	}
	return key
}

func (f *piFile) step(s piStep, edits map[int]int) (json.Value, error) {
	if s.key == "" {
		return nil, nil
	}
	message, err := f.message(s.message, edits)
	if err != nil {
		return nil, err
	}
	results := make([][]byte, len(s.results))
	for i, r := range s.results {
		if results[i], err = f.message(r, edits); err != nil {
			return nil, err
		}
	}
	var all json.Value
	if len(results) > 0 {
		all = json.Value("[" + string(bytes.Join(results, []byte(","))) + "]")
	}
	return object("id", json.Quote(s.key), "message", message, "results", all), nil
}

// The method `message` returns an entry's message. If a context_edit entry has replaced the content, the message has
// the new content.
func (f *piFile) message(i int, edits map[int]int) (json.Value, error) {
	l, err := f.line(i)
	if err != nil {
		return nil, err
	}
	message := messageIn(&l)
	edit, edited := edits[i]
	if !edited {
		return message, nil
	}
	change, err := f.line(edit)
	if err != nil {
		return nil, err
	}
	return withContent(message, change.Replacement), nil
}

// withContent replaces a message's content. In an answer or a result, a string becomes a block of text.
func withContent(message, replacement json.Value) json.Value {
	var r struct {
		Content json.Value `json:"content"`
	}
	names, values, err := json.Members(message)
	if err != nil || json.Unmarshal(replacement, &r) != nil || len(r.Content) == 0 {
		return message
	}
	role, _ := piKeyOf(message)
	if r.Content.Kind() == '"' && (role == "assistant" || role == "toolResult") {
		r.Content = json.Value("[" + string(object("type", json.Quote("text"), "text", r.Content)) + "]")
	}
	var members []any
	for i, name := range names {
		if name == "content" {
			values[i] = r.Content
		}
		members = append(members, name, values[i])
	}
	return object(members...)
}
