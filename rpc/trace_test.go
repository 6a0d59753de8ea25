package rpc

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

func record(t *testing.T, messages string) []byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "traces")
	rec, err := NewRecorder(dir, clock.NewManual(1_700_000_000_123), newRig(t, nil).server.log)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, &scriptedHost{})
	ours, hostEnd := Pipe()
	r.serve(ours)
	shimEnd, theirs := Pipe()
	forwarded := make(chan error, 2)
	go func() {
		err := Forward(t.Context(), hostEnd, shimEnd, rec, FromShim)
		hostEnd.Close()
		forwarded <- err
	}()
	go func() {
		err := Forward(t.Context(), shimEnd, hostEnd, rec, FromHost)
		shimEnd.Close()
		forwarded <- err
	}()
	c := NewClient(theirs, nil, nil)
	mustCall(t, c, schema.MethodInitialize, hello(), nil)
	if _, err := transform(patience(t), c, "s", 0, messages); err != nil {
		t.Fatal(err)
	}
	if err := theirs.(*halfPipe).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-forwarded; err != nil {
			t.Errorf("forward: %v", err)
		}
	}
	c.Close(context.Background())
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "1700000000123-*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("traces %v, error %v, want one", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("trace has mode %v, error %v, want 0600", info.Mode(), err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func collect(r io.Reader) (frames []TraceFrame, err error) {
	for f, err := range ReadTrace(r) {
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
	return frames, nil
}

func TestTraceHoldsTheConversation(t *testing.T) {
	const messages = `[{"text":"a\ud800b <&>"}]`
	trace := record(t, messages)
	frames, err := collect(bytes.NewReader(trace))
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		At         int64
		From       Sender
		Method     string
		Attachment string
	}
	var got []line
	for _, f := range frames {
		var body struct {
			Method string `json:"method"`
		}
		if err := json.Unmarshal(f.Body, &body); err != nil {
			t.Fatal(err)
		}
		got = append(got, line{f.At, f.From, body.Method, string(f.Attachment)})
	}
	const at = 1_700_000_000_123
	want := []line{
		{at, FromShim, "initialize", ""},
		{at, FromHost, "", ""},
		{at, FromShim, "session/transform", messages},
		{at, FromHost, "", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}

	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(trace); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := collect(&zipped)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(frames, again); diff != "" {
		t.Errorf("compressed trace (-want +got):\n%s", diff)
	}
}

func TestTraceOfAKilledProgramIsReadAsFarAsItGoes(t *testing.T) {
	trace := record(t, "[]")
	frames, err := collect(bytes.NewReader(trace[:len(trace)-9]))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got error %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if len(frames) != 3 {
		t.Errorf("got %d frames, want the 3 whole ones", len(frames))
	}
}

func TestTraceKeepsInvalidJSON(t *testing.T) {
	var v string
	if err := json.Unmarshal(traced([]byte("{no json\n")), &v); err != nil || v != "{no json\n" {
		t.Errorf("traced as %q, error %v", v, err)
	}
}

// A body is decoded several times, so it needs several times its size in memory. The reader refuses a body that would
// need too much.
func TestTraceWithAnOversizedBodyIsRefused(t *testing.T) {
	for _, c := range []struct {
		bytes int
		want  error
	}{{maxTracedBody - 2, nil}, {maxTracedBody, ErrTraceTooLarge}} {
		if _, err := collect(bytes.NewBufferString(`{"at":1,"from":"shim","body":` + string(json.Quote(strings.Repeat("a", c.bytes))) + `}`)); !errors.Is(err, c.want) {
			t.Errorf("a body of %d bytes: %v, want %v", c.bytes, err, c.want)
		}
	}
}

func TestForeignTraceIsRefused(t *testing.T) {
	if _, err := collect(bytes.NewBufferString(`{"level":"info"}`)); err == nil {
		t.Error("a log was read as a trace")
	}
}

// OpenCode's sidebar sends no requests of a session, so nobody could replay a trace of its connection. The recorder
// therefore writes none.
func TestViewIsNotRecorded(t *testing.T) {
	dir := t.TempDir()
	rec, err := NewRecorder(dir, clock.NewManual(1), newRig(t, nil).server.log)
	if err != nil {
		t.Fatal(err)
	}
	rec.record(FromShim, frame{body: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"client":"opencode-tui"}}`)})
	rec.record(FromHost, frame{body: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := rec.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
