package replay

import (
	"bytes"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/pipeline/transcript/transcripttest"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// asPi returns a trace of OpenCode in the form in which Pi's shim would have recorded the same session.
func asPi(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	models := make(map[string]schema.Model)
	for _, line := range plain(t, name) {
		var frame rpc.TraceFrame
		must(t, json.Unmarshal(line, &frame))
		var m message
		must(t, json.Unmarshal(frame.Body, &m))
		replace := func(path string, v any) {
			raw, err := json.Marshal(v)
			must(t, err)
			frame.Body, err = render.Apply(frame.Body, schema.Patch{{Op: "add", Path: path, Value: raw}})
			must(t, err)
		}
		switch {
		case frame.From == rpc.FromRecorder:
			frame.Body = json.Value(strings.ReplaceAll(string(frame.Body), `"opencode"`, `"pi"`))
		case frame.From != rpc.FromShim:
		case m.Method == schema.MethodInitialize:
			replace("/params/harness", schema.HarnessPi)
		case m.Method == schema.MethodTransform:
			var p schema.TransformParams
			must(t, json.Unmarshal(m.Params, &p))
			var messages, steps []json.Value
			must(t, json.Unmarshal(frame.Attachment, &messages))
			for _, raw := range messages {
				if d := (transcript.OpenCode{}).Decode(raw); d.Role == transcript.User {
					models[p.Session] = d.Model
				}
				step, err := transcripttest.ToPi(raw)
				must(t, err)
				steps = append(steps, step)
			}
			attachment, err := json.Marshal(steps)
			must(t, err)
			frame.Attachment = attachment
			replace("/params/model", models[p.Session])
		case m.Method == schema.MethodEvent:
			var p schema.EventParams
			must(t, json.Unmarshal(m.Params, &p))
			var e struct {
				Type       string `json:"type"`
				Properties struct {
					Info json.Value `json:"info"`
				} `json:"properties"`
			}
			must(t, json.Unmarshal(p.Event, &e))
			event := json.Value(`{"type":"other"}`)
			if e.Type == "message.updated" {
				step, err := transcripttest.ToPi(json.Value(`{"info":` + string(e.Properties.Info) + `}`))
				must(t, err)
				event, err = render.Apply(step, schema.Patch{{Op: "add", Path: "/type", Value: json.Quote("message_end")}})
				must(t, err)
			}
			replace("/params/event", event)
		}
		text, err := json.Marshal(frame)
		must(t, err)
		out.Write(append(text, '\n'))
	}
	return out.Bytes()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A trace of Pi can be replayed in every way in which a trace of OpenCode can. TestEveryTraceInEveryModeForEveryProfile
// replays recorded traces of Pi.
func TestTracesOfPiReplayClean(t *testing.T) {
	const name = "short.jsonl.gz"
	trace := asPi(t, name)
	for what, o := range map[string]Options{
		"": {}, "as recorded": {AsRecorded: true}, "for OpenAI in a small window": {Profile: "openai", Window: 24_000}, "as a subagent": {Mode: "subagent-no-reduce", Profile: "google", Window: 24_000},
	} {
		report, err := Run(t.Context(), bytes.NewReader(trace), o)
		if err != nil {
			t.Fatalf("%s %s: %v", name, what, err)
		}
		s := report.Summary()
		if !s.IsClean() {
			t.Errorf("%s %s: %d unexplained busts, %v, %v, %v", name, what, s.UnexplainedBusts, s.InvariantViolations, s.ValidatorHits, s.Overflows)
		}
		if want := passes(t, bytes.Join(plain(t, name), nil)); s.Passes != want || s.Tokens.Read == 0 || s.Bill <= 0 {
			t.Errorf("%s %s: %d passes of %d, %+v, %v", name, what, s.Passes, want, s.Tokens, s.Bill)
		}
		if o.Window > 0 && s.Detail[len(s.Detail)-1].WindowTokens != o.Window {
			t.Errorf("%s %s: replayed with a window of %d tokens", name, what, s.Detail[len(s.Detail)-1].WindowTokens)
		}
	}
	seen := 0
	err := Recorded(bytes.NewReader(trace), func(_ string, raw, _ []json.Value) error { seen += len(raw); return nil })
	if err == nil || !strings.Contains(err.Error(), "patch") { // the recorded host's patches are OpenCode's
		t.Errorf("%s: %v after %d messages", name, err, seen)
	}
}

func TestTraceOfAnUnknownHarnessIsRefused(t *testing.T) {
	trace := bytes.ReplaceAll(bytes.Join(plain(t, "short.jsonl.gz"), nil), []byte(`"harness":"opencode"`), []byte(`"harness":"emacs"`))
	if _, err := Run(t.Context(), bytes.NewReader(trace), Options{}); err == nil || !strings.Contains(err.Error(), `"emacs"`) {
		t.Error(err)
	}
	if err := Recorded(bytes.NewReader(trace), nil); err == nil || !strings.Contains(err.Error(), `"emacs"`) {
		t.Error(err)
	}
}
