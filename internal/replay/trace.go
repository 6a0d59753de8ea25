package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

type message struct {
	ID     json.Value `json:"id"`
	Method string     `json:"method"`
	Params json.Value `json:"params"`
	Result json.Value `json:"result"`
	Error  json.Value `json:"error"`
}

// A step is one event of the trace: a request or notification of the recorded shim, or (if `take` is set) the moment at
// which the shim sent a hidden agent's answer.
type step struct {
	at         int64
	method     string
	params     json.Value
	attachment json.Value
	kept       int // of a shortened resync: see rpc.TraceFrame
	// answer is the recorded host's result, or nil.
	answer json.Value
	// `take` is nil for a request or a notification.
	take *take
	// isRefused means that the recorded host refused this transform, because it no longer had the array that the
	// transform continues. It ran no pass. The shim sent the whole array in a later step.
	isRefused bool
}

// recorded returns the recorded answer to a transform, or a zero value.
func (s *step) recorded() (w schema.WireMutation) {
	if len(s.answer) == 0 || json.Unmarshal(s.answer, &w) != nil {
		return schema.WireMutation{}
	}
	return w
}

type trace struct {
	steps []step
	// `answers` holds the shim's answers by method and params, except the answers of hidden agents, which are in
	// `cassette`.
	answers  map[string][]json.Value
	cassette *cassette
	// limits holds the model limits that the shim reported. `asked` holds the models whose limits the host asked for.
	limits map[schema.Model]json.Value
	asked  map[schema.Model]bool
	// If the trace breaks off, `cut` says where and why. isTruncated means that a part of the file was lost after the
	// recording.
	cut         string
	isTruncated bool
	harness     schema.Harness
	codec       transcript.Codec
	// The shim reported the wires with which its requests left.
	tellsSent bool
}

func read(r io.Reader) (*trace, error) {
	t := &trace{cassette: newCassette(), answers: make(map[string][]json.Value), limits: make(map[schema.Model]json.Value), asked: make(map[schema.Model]bool)}
	asked := make(map[string]string)        // the method and params of each request of the host, by its id
	models := make(map[string]schema.Model) // the model of each request of the host for limits, by the request's id
	calls := make(map[string]int)           // the step of each request of the shim, by its id
	runs := newRecordedRuns(t)
	frames := 0
	file := &source{Reader: r}
	for frame, err := range rpc.ReadTrace(file) {
		if err != nil {
			if len(t.steps) == 0 || !t.breaksOff(err, frames) {
				return nil, file.explain(err, frames)
			}
			break
		}
		frames++
		var m message
		if err := json.Unmarshal(frame.Body, &m); err != nil {
			return nil, fmt.Errorf("frame at %d: %w", frame.At, err)
		}
		switch {
		case frame.From == rpc.FromRecorder:
			t.steps = append(t.steps, step{at: frame.At, method: m.Method, params: frame.Body})
		case runs.read(frame, &m):
		case frame.From == rpc.FromHost && m.Method != "" && m.ID != nil:
			asked[string(m.ID)] = question(m.Method, m.Params)
			var p schema.ModelLimitsParams
			if m.Method == schema.MethodModelLimits && json.Unmarshal(m.Params, &p) == nil {
				models[string(m.ID)], t.asked[p.Model] = p.Model, true
			}
		case frame.From == rpc.FromHost && m.Method == "":
			if i, ok := calls[string(m.ID)]; ok {
				t.steps[i].answer, t.steps[i].isRefused = m.Result, isResync(m.Error)
			}
			delete(calls, string(m.ID))
		case frame.From == rpc.FromShim && m.Method == "":
			if q, ok := asked[string(m.ID)]; ok && m.Error == nil {
				t.answers[q] = append(t.answers[q], m.Result)
				if model, ok := models[string(m.ID)]; ok {
					t.limits[model] = m.Result
				}
			}
		case frame.From == rpc.FromShim:
			if m.Method == schema.MethodInitialize {
				if err := t.recordedIn(m.Params); err != nil {
					return nil, fmt.Errorf("frame at %d: %w", frame.At, err)
				}
			}
			t.tellsSent = t.tellsSent || m.Method == schema.MethodTransform && bytes.Contains(m.Params, []byte(`"sent":`))
			if m.Method == schema.MethodTransform {
				calls[string(m.ID)] = len(t.steps)
			}
			t.steps = append(t.steps, step{at: frame.At, method: m.Method, params: m.Params, attachment: frame.Attachment, kept: frame.Kept})
		}
	}
	if len(t.steps) > 0 && t.codec == nil {
		return nil, errors.New("the trace does not say in which harness it was recorded")
	}
	t.steps = slices.DeleteFunc(t.steps, func(s step) bool { return s.isRefused })
	t.stateFirst()
	return t, nil
}

func isResync(recorded json.Value) bool {
	var e struct {
		Code int `json:"code"`
	}
	return len(recorded) > 0 && json.Unmarshal(recorded, &e) == nil && e.Code == schema.CodeResync
}

// The recorder asks for a session's state before the first pass, but a command or a system prompt request may
// come earlier. Without the state, the replay's host would treat the session as new. So stateFirst moves the
// state of each continued session to the place just before the session's first step.
func (t *trace) stateFirst() {
	first := make(map[string]int)         // the index of the first step of each session
	states := make(map[int][]step)        // the states that move, by the index of that step
	isMoved := make([]bool, len(t.steps)) // a trace may hold a million steps, so all of them move at once
	for i, s := range t.steps {
		var of struct {
			Session string `json:"session"`
		}
		if s.method != schema.MethodSessionExport {
			if err := json.Unmarshal(s.params, &of); err == nil && of.Session != "" {
				if _, seen := first[of.Session]; !seen {
					first[of.Session] = i
				}
			}
			continue
		}
		var e rpc.RecordedExport
		if json.Unmarshal(s.params, &e) != nil || e.Result == nil || e.Result.Passes == 0 {
			continue
		}
		if to, ok := first[e.Params.Session]; ok {
			s.at = t.steps[to].at
			states[to], isMoved[i] = append(states[to], s), true
		}
	}
	sorted := make([]step, 0, len(t.steps))
	for i, s := range t.steps {
		if sorted = append(sorted, states[i]...); !isMoved[i] {
			sorted = append(sorted, s)
		}
	}
	t.steps = sorted
}

// All initializes of a connection name the same harness.
func (t *trace) recordedIn(params json.Value) (err error) {
	t.harness, t.codec, err = harnessOf(params)
	return err
}

func harnessOf(params json.Value) (schema.Harness, transcript.Codec, error) {
	var p schema.InitializeParams
	if err := json.Unmarshal(params, &p); err != nil {
		return "", nil, fmt.Errorf("initialize: %w", err)
	}
	codec, ok := transcript.CodecOf(string(p.Harness))
	if !ok {
		return "", nil, fmt.Errorf("the trace was recorded in harness %q, which this program does not know", p.Harness)
	}
	return p.Harness, codec, nil
}

// breaksOff reports whether the trace was cut off, according to the error of its reader. If so, it sets `cut` and
// isTruncated. `frames` is the number of frames that could be read.
func (t *trace) breaksOff(err error, frames int) bool {
	t.isTruncated = errors.Is(err, rpc.ErrTruncated)
	switch {
	case t.isTruncated:
		t.cut = fmt.Sprintf("everything after frame %d: a part of the compressed file was lost", frames)
	case isTorn(err):
		t.cut = fmt.Sprintf("everything after frame %d: the recorder was killed", frames)
	default:
		return false
	}
	return true
}

func question(method string, params json.Value) string { return method + "\x00" + string(params) }

// answer returns the recorded answer to a request. If the trace contains several equal requests, the n-th of them gets
// the n-th answer. If no answer is left, the last one is repeated.
func (t *trace) answer(method string, params json.Value) (json.Value, error) {
	q := question(method, params)
	given := t.answers[q]
	var p schema.ModelLimitsParams
	if len(given) == 0 && method == schema.MethodModelLimits && json.Unmarshal(params, &p) == nil && t.limits[p.Model] != nil {
		return t.limits[p.Model], nil // the shim reported these limits for another directory
	}
	if len(given) == 0 {
		return nil, fmt.Errorf("the trace holds no answer to %s", method)
	}
	if len(given) > 1 {
		t.answers[q] = given[1:]
	}
	return given[0], nil
}

// isTorn reports whether err means that the trace was cut off, either in the middle of a line or in its compressed
// data.
func isTorn(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, rpc.ErrTruncated)
}
