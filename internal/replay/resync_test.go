package replay

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// A recorder writes a resync as the difference from the previous array. Such a trace must replay exactly like a trace
// that contains whole arrays.
func TestShortenedResyncsReplayAsWholeOnes(t *testing.T) {
	for _, name := range []string{"short.jsonl.gz", "pi-short.jsonl.gz", "opencode2.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			whole := resyncsOnly(t, name)
			shortened := recordAgain(t, whole)
			if len(shortened) > len(whole)*4/5 {
				t.Errorf("%d bytes are shortened to %d", len(whole), len(shortened))
			}
			if diff := cmp.Diff(arraysOf(t, whole), arraysOf(t, shortened)); diff != "" {
				t.Errorf("arrays (-whole +shortened):\n%s", diff)
			}
			var bills []string
			for _, trace := range [][]byte{whole, shortened} {
				report, err := Run(t.Context(), bytes.NewReader(trace), Options{})
				must(t, err)
				s := report.Summary()
				bills = append(bills, fmt.Sprint(s.Passes, s.Tokens, s.Bill, s.RawBill, s.IsClean()))
			}
			if bills[0] != bills[1] {
				t.Errorf("a replay says %s of whole resyncs, and %s of shortened ones", bills[0], bills[1])
			}
		})
	}
}

func resyncsOnly(t *testing.T, name string) []byte {
	t.Helper()
	arrays := make(map[string][]json.Value)
	var all bytes.Buffer
	for _, line := range plain(t, name) {
		var f rpc.TraceFrame
		var body map[string]json.Value
		must(t, json.Unmarshal(line, &f))
		must(t, json.Unmarshal(f.Body, &body))
		if string(body["method"]) == `"session/transform"` {
			var p schema.TransformParams
			var messages []json.Value
			must(t, json.Unmarshal(body["params"], &p))
			must(t, json.Unmarshal(f.Attachment, &messages))
			messages = append(arrays[p.Session][:p.Keep:p.Keep], messages...)
			arrays[p.Session] = messages
			p.Base, p.Keep = 0, 0
			body["params"], f.Attachment = marshal(t, p), marshal(t, messages)
			f.Body = marshal(t, body)
		}
		all.Write(append(marshal(t, f), '\n'))
	}
	return all.Bytes()
}

func recordAgain(t *testing.T, trace []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	rec, err := rpc.NewRecorder(dir, clock.NewManual(1_700_000_000_123), slog.New(slog.DiscardHandler))
	must(t, err)
	for f, err := range rpc.ReadTrace(bytes.NewReader(trace)) {
		must(t, err)
		var frame bytes.Buffer
		fmt.Fprintf(&frame, "Content-Length: %d\r\n", len(f.Body))
		if f.Attachment != nil {
			fmt.Fprintf(&frame, "Attachment-Length: %d\r\n", len(f.Attachment))
		}
		frame.WriteString("\r\n")
		frame.Write(f.Body)
		frame.Write(f.Attachment)
		must(t, rpc.Forward(t.Context(), io.Discard, &frame, rec, f.From))
	}
	must(t, rec.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, err)
	content, err := os.ReadFile(files[0])
	must(t, err)
	return content
}

func arraysOf(t *testing.T, trace []byte) (all []string) {
	t.Helper()
	must(t, Recorded(bytes.NewReader(trace), func(session string, raw, wire []json.Value) error {
		all = append(all, fmt.Sprintf("%s\n%s\n%s", session, raw, wire))
		return nil
	}))
	return all
}

func marshal(t *testing.T, v any) json.Value {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}
