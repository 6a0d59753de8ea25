package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// A message is the JSON-RPC message inside a frame.
type message struct {
	ID     json.Value `json:"id"`
	Method string     `json:"method"`
	Params json.Value `json:"params"`
	Result json.Value `json:"result"`
	Error  json.Value `json:"error"`
}

// A step is one request or notification of the recorded shim.
type step struct {
	at     int64
	method string
	params json.Value
	// notification is true if the shim expects no answer.
	notification bool
	attachment   json.Value
}

// A trace is a recorded connection, in the order of its frames.
type trace struct {
	steps []step
	// answers holds the shim's answers to requests of the host, by method and params.
	answers map[string][]json.Value
	// tellsSent is true if the shim reported the wires with which its requests left.
	tellsSent bool
}

// read reads a trace. If the trace breaks off because its program was killed, read returns the complete
// part.
func read(r io.Reader) (*trace, error) {
	t := &trace{answers: make(map[string][]json.Value)}
	asked := make(map[string]string) // from the id of a host's request to its method and params
	for frame, err := range rpc.ReadTrace(r) {
		if err != nil {
			if len(t.steps) > 0 && isTorn(err) {
				break
			}
			return nil, err
		}
		var m message
		if err := json.Unmarshal(frame.Body, &m); err != nil {
			return nil, fmt.Errorf("frame at %d: %w", frame.At, err)
		}
		switch {
		case frame.From == rpc.FromHost && m.Method != "" && m.ID != nil:
			asked[string(m.ID)] = question(m.Method, m.Params)
		case frame.From == rpc.FromShim && m.Method == "":
			if q, ok := asked[string(m.ID)]; ok && m.Error == nil {
				t.answers[q] = append(t.answers[q], m.Result)
			}
		case frame.From == rpc.FromShim:
			t.tellsSent = t.tellsSent || m.Method == schema.MethodTransform && bytes.Contains(m.Params, []byte(`"sent":`))
			t.steps = append(t.steps, step{at: frame.At, method: m.Method, params: m.Params, notification: m.ID == nil, attachment: frame.Attachment})
		}
	}
	return t, nil
}

func question(method string, params json.Value) string { return method + "\x00" + string(params) }

// answer returns the shim's answer to a request. The n-th equal request gets the n-th answer, and any
// further one the last answer again.
func (t *trace) answer(method string, params json.Value) (json.Value, error) {
	q := question(method, params)
	given := t.answers[q]
	if len(given) == 0 {
		return nil, fmt.Errorf("the trace holds no answer to %s", method)
	}
	if len(given) > 1 {
		t.answers[q] = given[1:]
	}
	return given[0], nil
}

// isTorn reports whether the trace ends within a line.
func isTorn(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
