package rpc

import (
	"crypto/sha256"
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// recordedArrays has, for each session, the array that a reader of the trace knows. A resync is recorded only as the
// difference from this array. If resyncs were recorded in full, 26 of them would take 1.3 GB in a session of 50 MB,
// which is too much for a replay.
type recordedArrays map[string]recordedArray

type recordedArray struct {
	held []digest
	// pending is the id of a transform without an answer, and next is its array. Only the answer shows whether the host
	// accepts the array.
	pending string
	next    []digest
}

type digest [sha256.Size]byte

// record remembers the array of a transform. If the transform is a resync, record shortens its line in the trace to the
// difference from the known array.
func (a recordedArrays) record(line *TraceFrame, m *message) {
	var p schema.TransformParams
	var messages []json.Value
	if json.Unmarshal(m.Params, &p) != nil || p.Session == "" {
		return
	}
	array := a[p.Session]
	delete(a, p.Session)
	if json.Unmarshal(line.Attachment, &messages) != nil {
		return
	}
	isKnown := array.held != nil && array.pending == ""
	next := make([]digest, len(messages))
	for i, raw := range messages {
		next[i] = sha256.Sum256(raw)
	}
	switch {
	case p.Base != 0 && (!isKnown || p.Keep < 0 || p.Keep > len(array.held)):
		return // the array is unknown until the next resync
	case p.Base != 0:
		next = slices.Concat(array.held[:p.Keep], next)
	case isKnown:
		kept := 0
		for kept < min(len(next), len(array.held)) && next[kept] == array.held[kept] {
			kept++
		}
		if rest, err := json.Marshal(messages[kept:]); kept > 0 && err == nil {
			line.Kept, line.Attachment = kept, rest
		}
	}
	if !isKnown {
		array.held = nil
	}
	a[p.Session] = recordedArray{held: array.held, pending: string(m.ID), next: next}
}

// answered handles the answer to a transform. If the transform succeeded, a reader of the trace now knows its array.
// After the error CodeResync, the reader still knows the array before it, because it skips this transform. After any
// other error, the reader knows no array.
func (a recordedArrays) answered(m *message) {
	for session, array := range a {
		if array.pending == "" || array.pending != string(m.ID) {
			continue
		}
		var failed struct {
			Code int `json:"code"`
		}
		switch {
		case len(m.Error) == 0:
			a[session] = recordedArray{held: array.next}
		case json.Unmarshal(m.Error, &failed) == nil && failed.Code == schema.CodeResync && array.held != nil:
			a[session] = recordedArray{held: array.held}
		default:
			delete(a, session)
		}
		return
	}
}
