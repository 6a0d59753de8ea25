package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

func newTrace(t rapid.TB, dir string, at int64) *Recorder {
	t.Helper()
	rec, err := NewRecorder(dir, clock.NewManual(at), (&logBuffer{}).logger())
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func recorded(t rapid.TB, rec *Recorder) []TraceFrame {
	t.Helper()
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(rec.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	frames, err := collect(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

func ask(t rapid.TB, rec *Recorder, id int, p schema.TransformParams, messages []json.Value) {
	t.Helper()
	params, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	attachment, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/transform","params":%s}`, id, params)
	rec.record(FromShim, frame{body: []byte(body), attachment: attachment})
}

func reply(rec *Recorder, id int, rest string) {
	rec.record(FromHost, frame{body: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, id, rest)})
}

const (
	accepted = `"result":{}`
	refused  = `"error":{"code":-32010,"message":"base not held"}`
	failed   = `"error":{"code":-32000,"message":"x"}`
)

// Regression test: the trace of 26 resyncs of one session had 1.3 GB, so no replay accepted it. Resyncs must be
// recorded as differences.
func TestRepeatedResyncsAreRecordedAsDifferences(t *testing.T) {
	rec := newTrace(t, t.TempDir(), 1_700_000_000_123)
	array := make([]json.Value, 100)
	for i := range array {
		array[i] = json.Quote(strings.Repeat(fmt.Sprint(i), 1000))
	}
	const resyncs = 26
	for id := range resyncs {
		ask(t, rec, id, schema.TransformParams{Session: "s"}, array)
		reply(rec, id, accepted)
	}
	once, err := json.Marshal(array)
	if err != nil {
		t.Fatal(err)
	}
	if rec.written > 2*int64(len(once)) {
		t.Errorf("%d resyncs of %d bytes take %d", resyncs, len(once), rec.written)
	}
}

// A trace contains differences, but a reader must get each resync as the shim sent it. Like the recorder, the reader
// skips refused transforms, and forgets the array after any other error.
func TestEachResyncIsReadAsItWasSent(t *testing.T) {
	dir := t.TempDir()
	at := int64(1_700_000_000_000)
	rapid.Check(t, func(t *rapid.T) {
		at++
		rec := newTrace(t, dir, at)
		var sent [][]json.Value
		held := map[string][]json.Value{}
		for id := range rapid.IntRange(1, 12).Draw(t, "requests") {
			session := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session")
			p := schema.TransformParams{Session: session}
			messages := rapid.Custom(func(t *rapid.T) json.Value {
				return json.Quote(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "message"))
			})
			was := held[session]
			keep := rapid.IntRange(0, len(was)).Draw(t, "keep")
			next := append(was[:keep:keep], rapid.SliceOfN(messages, 0, 3).Draw(t, "new")...)
			attachment := next
			if id > 0 && rapid.Bool().Draw(t, "delta") {
				p.Base, p.Keep, attachment = uint64(id), keep, next[keep:]
			}
			ask(t, rec, id, p, attachment)
			sent = append(sent, next)
			switch answer := rapid.SampledFrom([]string{accepted, accepted, refused, failed, ""}).Draw(t, "answer"); answer {
			case "":
				held[session] = next
			case accepted:
				held[session] = next
				reply(rec, id, answer)
			default:
				reply(rec, id, answer)
			}
		}
		type array struct {
			id, session string
			before      []json.Value
		}
		arrays := map[string][]json.Value{}
		var open array
		for _, f := range recorded(t, rec) {
			var m message
			if err := json.Unmarshal(f.Body, &m); err != nil {
				t.Fatal(err)
			}
			if f.From == FromHost {
				switch {
				case string(m.ID) != open.id || len(m.Error) == 0:
				case bytes.Contains(m.Error, []byte("-32010")):
					arrays[open.session] = open.before
				default:
					delete(arrays, open.session)
				}
				continue
			}
			var p schema.TransformParams
			var messages []json.Value
			if err := errors.Join(json.Unmarshal(m.Params, &p), json.Unmarshal(f.Attachment, &messages)); err != nil {
				t.Fatal(err)
			}
			open = array{string(m.ID), p.Session, arrays[p.Session]}
			if p.Base != 0 {
				if p.Keep > len(arrays[p.Session]) {
					delete(arrays, p.Session)
					continue
				}
				arrays[p.Session] = append(arrays[p.Session][:p.Keep:p.Keep], messages...)
				continue
			}
			if f.Kept > len(arrays[p.Session]) {
				t.Fatalf("request %s keeps %d of %d messages", m.ID, f.Kept, len(arrays[p.Session]))
			}
			got := append(arrays[p.Session][:f.Kept:f.Kept], messages...)
			arrays[p.Session] = got
			var id int
			if err := json.Unmarshal(m.ID, &id); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fmt.Sprintf("%s", sent[id]), fmt.Sprintf("%s", got)); diff != "" {
				t.Fatalf("resync %d (-sent +read):\n%s", id, diff)
			}
		}
	})
}

// If the trace reaches its limit or the disk is full, the trace must end with a whole line, and all later frames must
// still be passed on.
func TestFullTraceEnds(t *testing.T) {
	rec := newTrace(t, t.TempDir(), 1_700_000_000_123)
	rec.limit = 1000
	for id := range 100 {
		reply(rec, id, accepted)
	}
	if !rec.hasEnded() || rec.written > rec.limit {
		t.Errorf("ended %v after %d bytes", rec.hasEnded(), rec.written)
	}
	if frames := recorded(t, rec); len(frames) == 0 || len(frames) == 100 {
		t.Errorf("%d frames are left", len(frames))
	}
}

func TestFullDiskStopsNoFrame(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no /dev/full: %v", err)
	}
	rec := newTrace(t, t.TempDir(), 1_700_000_000_123)
	rec.file.Close()
	rec.file = full
	var sent, passed bytes.Buffer
	for range 3 {
		if err := writeFrame(&sent, frame{body: []byte(`{"jsonrpc":"2.0","method":"event"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	want := sent.String()
	if err := Forward(t.Context(), &passed, &sent, rec, FromShim); err != nil || passed.String() != want {
		t.Errorf("passed %q of %q, error %v", passed.String(), want, err)
	}
	if !rec.hasEnded() {
		t.Error("the trace goes on")
	}
	if err := rec.Close(); err != nil {
		t.Error(err)
	}
}

func TestOldestTracesAreRemovedFirst(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"1700000000001-1.jsonl", "1700000000002-1.jsonl", "1700000000003-9.jsonl", "mine.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOldTraces(dir, 200); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if diff := cmp.Diff([]string{"1700000000002-1.jsonl", "1700000000003-9.jsonl", "mine.jsonl"}, left); diff != "" {
		t.Errorf("traces (-want +left):\n%s", diff)
	}
}
