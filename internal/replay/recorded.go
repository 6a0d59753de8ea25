package replay

import (
	"fmt"
	"io"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// Recorded reads a trace without running a host. For each pass, it passes two arrays to `see`: the shim's array, and
// the wire from the recorded answer. If a pass has no good answer, Recorded skips the session until its next resync.
func Recorded(r io.Reader, see func(session string, raw, wire []json.Value) error) error {
	type asked struct {
		schema.TransformParams
		attachment json.Value
		kept       int
	}
	open := make(map[string]asked) // the open questions, by the id of the request
	mirrors := make(map[string]*mirror)
	var codec transcript.Codec
	for frame, err := range rpc.ReadTrace(r) {
		if isTorn(err) {
			return nil
		}
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(frame.Body, &m); err != nil {
			return fmt.Errorf("frame at %d: %w", frame.At, err)
		}
		if frame.From == rpc.FromShim && m.Method == schema.MethodInitialize {
			if _, codec, err = harnessOf(m.Params); err != nil {
				return fmt.Errorf("frame at %d: %w", frame.At, err)
			}
		}
		if frame.From == rpc.FromShim && m.Method == schema.MethodTransform {
			a := asked{attachment: frame.Attachment, kept: frame.Kept}
			if err := json.Unmarshal(m.Params, &a.TransformParams); err != nil {
				return fmt.Errorf("request at %d: %w", frame.At, err)
			}
			open[string(m.ID)] = a
			continue
		}
		a, isAnswer := open[string(m.ID)]
		if frame.From != rpc.FromHost || m.Method != "" || !isAnswer {
			continue
		}
		delete(open, string(m.ID))
		if isResync(m.Error) {
			continue // the host did not take the array, so the shim sends the whole array next
		}
		if m.Error != nil || codec == nil {
			delete(mirrors, a.Session)
			continue
		}
		var w schema.WireMutation
		if err := json.Unmarshal(m.Result, &w); err != nil {
			return fmt.Errorf("answer at %d: %w", frame.At, err)
		}
		if a.Base == 0 {
			before := mirrors[a.Session]
			mirrors[a.Session], a.Keep = newMirror(codec), a.kept
			if a.kept > 0 && before != nil {
				if err := mirrors[a.Session].resume(before, a.kept); err != nil {
					return err
				}
			}
		}
		mirror := mirrors[a.Session]
		if mirror == nil {
			continue
		}
		if err := mirror.update(a.Keep, a.attachment); err != nil {
			return err
		}
		if _, err := mirror.apply(w); err != nil {
			return err
		}
		raw, wire, err := mirror.arrays()
		if err != nil {
			return err
		}
		if err := see(a.Session, raw, wire); err != nil {
			return err
		}
	}
	return nil
}
