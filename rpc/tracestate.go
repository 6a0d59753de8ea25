package rpc

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// The host's answers depend not only on the frames, but also on the configuration, on what the host has learned about
// models, and on the state of a session that began earlier. So the recorder asks the host for this state
// (session/export) over a separate connection: before the first transform of a session, before each resync, and before
// the first transform after each initialize.

// A Dial opens another connection to the recorded host.
type Dial func(context.Context) (io.ReadWriteCloser, error)

// exportTimeout is short, because the user's pass waits for the export, and the shim waits only a few seconds for the
// pass.
const exportTimeout = 2 * time.Second

// ExportFrom makes the recorder ask the host for the state that the frames do not show. It must be called before the
// first frame.
func (r *Recorder) ExportFrom(dial Dial) { r.dial = dial }

// Only the goroutine that forwards the shim's frames uses exportedState.
type exportedState struct {
	harness  schema.Harness
	sessions map[string]int  // the number of the last initialize before each session's export
	opened   int             // the number of initializes so far
	hasRows  map[string]bool // the sessions whose rows are in the trace
}

// A RecordedExport is the body of a line that the recorder adds. If the host gave no result, Error says why.
type RecordedExport struct {
	Method string                     `json:"method"`
	Params schema.SessionExportParams `json:"params"`
	Result *schema.SessionExport      `json:"result,omitzero"`
	Error  string                     `json:"error,omitzero"`
}

// export records the state on which the answer to a transform depends.
func (r *Recorder) export(ctx context.Context, f frame) {
	if r.dial == nil || r.hasEnded() {
		return
	}
	var m message
	if json.Unmarshal(f.body, &m) != nil || m.Method == nil {
		return
	}
	switch *m.Method {
	case schema.MethodInitialize:
		var p schema.InitializeParams
		if json.Unmarshal(m.Params, &p) == nil {
			r.known.harness = p.Harness
			r.known.opened++
		}
	case schema.MethodTransform:
		var p schema.TransformParams
		if json.Unmarshal(m.Params, &p) != nil || !r.known.isDue(p) {
			return
		}
		r.recordExport(ctx, schema.SessionExportParams{
			Harness: r.known.harness, Session: p.Session, Directory: p.Directory, Parent: p.Parent,
			Original: p.Original, Messages: f.attachment,
		})
	}
}

// isDue reports whether the recorder must ask the host for the session's state before this transform. If so, it assumes
// that the caller asks at once, and records this.
func (k *exportedState) isDue(p schema.TransformParams) bool {
	at, isKnown := k.sessions[p.Session]
	if isKnown && p.Base != 0 && at == k.opened {
		return false
	}
	if k.sessions == nil {
		k.sessions = make(map[string]int)
	}
	k.sessions[p.Session] = k.opened
	return true
}

func (r *Recorder) recordExport(ctx context.Context, p schema.SessionExportParams) {
	body := RecordedExport{Method: schema.MethodSessionExport, Params: p}
	result, err := r.ask(ctx, p)
	if err != nil {
		body.Error = err.Error()
		r.log.Warn("the trace lacks the state of a session", "session", p.Session, "cause", err)
	} else {
		if r.known.hasRows[p.Session] { // a replay imports the rows of a session only once
			result.Tables = nil
		}
		r.known.hasRows[p.Session] = true
		body.Result = &result
	}
	raw, err := json.Marshal(body)
	if err != nil {
		r.log.Warn("the trace lacks the state of a session", "session", p.Session, "cause", err)
		return
	}
	r.record(FromRecorder, frame{body: raw})
}

// ask is called rarely, so each call opens a connection of its own.
func (r *Recorder) ask(ctx context.Context, p schema.SessionExportParams) (result schema.SessionExport, err error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	conn, err := r.dial(ctx)
	if err != nil {
		return result, fmt.Errorf("connect to the host: %w", err)
	}
	client := NewClient(conn, nil, r.log)
	defer client.Close(ctx)
	err = client.CallWithAttachment(ctx, schema.MethodSessionExport, p, p.Messages, &result)
	return result, err
}
