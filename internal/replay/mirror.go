package replay

import (
	"fmt"
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A mirror plays the part of the shim in a replay: it holds the array of a session, and the patches of the host.
type mirror struct {
	codec    transcript.Codec
	entries  []mirrored
	revision uint64
	patches  map[string]schema.Patch
	// The wire consists of `head`, followed by those patched entries that isOnWire accepts.
	head   []json.Value
	start  int
	pinned []string
}

type mirrored struct {
	key      string
	raw      json.Value
	rendered render.Rendered
	fresh    bool // fresh means that rendered is still valid
}

func newMirror(codec transcript.Codec) *mirror {
	return &mirror{codec: codec, patches: make(map[string]schema.Patch)}
}

// messagesOf decodes the messages in the attachment. `earlier` is the number of messages that the mirror has before
// them. A trace may come from anybody, so messagesOf returns an error if there are more messages than the host accepts,
// or if a message has too many parts.
func messagesOf(attachment json.Value, earlier int) (messages []json.Value, err error) {
	if err := json.Unmarshal(attachment, &messages); err != nil {
		return nil, fmt.Errorf("messages: %w", err)
	}
	return messages, transcript.CheckSize(earlier, messages)
}

func (m *mirror) update(unchanged int, attachment json.Value) error {
	messages, err := messagesOf(attachment, unchanged)
	if err != nil {
		return err
	}
	if unchanged < 0 || unchanged > len(m.entries) {
		return fmt.Errorf("the trace keeps %d of %d messages, so a part of it is missing or wrong; record it again", unchanged, len(m.entries))
	}
	m.entries = m.entries[:unchanged]
	for _, raw := range messages {
		m.entries = append(m.entries, mirrored{key: m.codec.Decode(raw).Key, raw: raw})
	}
	return nil
}

// resume is called at a resync. m begins with the first `kept` messages of the old mirror, without their patches,
// because the host sends all patches again.
func (m *mirror) resume(before *mirror, kept int) error {
	if kept > len(before.entries) {
		return fmt.Errorf("the trace keeps %d of %d messages, so a part of it is missing or wrong; record it again", kept, len(before.entries))
	}
	for _, e := range before.entries[:kept] {
		m.entries = append(m.entries, mirrored{key: e.key, raw: e.raw})
	}
	return nil
}

func (m *mirror) messages() []json.Value {
	all := make([]json.Value, len(m.entries))
	for i := range m.entries {
		all[i] = m.entries[i].raw
	}
	return all
}

func (m *mirror) apply(w schema.WireMutation) ([]render.Rendered, error) {
	m.revision = w.Revision
	changed := make(map[string]bool, len(w.Edits)+len(w.Cleared))
	for _, key := range w.Cleared {
		delete(m.patches, key)
		changed[key] = true
	}
	for key := range w.Edits {
		changed[key] = true
	}
	maps.Copy(m.patches, w.Edits)
	if w.Head != nil || w.HeadCleared {
		m.head = w.Head
	}
	all := make([]render.Rendered, 0, len(m.entries)+len(m.head))
	for _, raw := range m.head {
		d := m.codec.Decode(raw)
		wire := render.WireMessageOf(&d)
		all = append(all, render.Rendered{Raw: wire, Wire: wire})
	}
	if w.Start > len(m.entries) {
		return nil, fmt.Errorf("the mutation starts at %d of %d messages", w.Start, len(m.entries))
	}
	m.start, m.pinned = w.Start, w.Pinned
	for i := range m.entries {
		e := &m.entries[i]
		if !m.isOnWire(i) {
			continue
		}
		if !e.fresh || changed[e.key] {
			if err := m.render(e); err != nil {
				return nil, err
			}
		}
		all = append(all, e.rendered)
	}
	return all, nil
}

func (m *mirror) isOnWire(i int) bool {
	return i >= m.start || slices.Contains(m.pinned, m.entries[i].key)
}

func (m *mirror) raws() ([]render.WireMessage, error) {
	all := make([]render.WireMessage, len(m.entries))
	for i := range m.entries {
		e := &m.entries[i]
		if !e.fresh { // the head covers this message, so its wire was not rendered
			if err := m.render(e); err != nil {
				return nil, err
			}
		}
		all[i] = e.rendered.Raw
	}
	return all, nil
}

func (m *mirror) render(e *mirrored) error {
	patched, err := render.Apply(e.raw, m.patches[e.key])
	if err != nil {
		return fmt.Errorf("message %s: %w", e.key, err)
	}
	before, after := m.codec.Decode(e.raw), m.codec.Decode(patched)
	e.rendered = render.Rendered{Raw: render.WireMessageOf(&before), Wire: render.WireMessageOf(&after)}
	e.rendered.Raw.Hash() // compute the hash here, because every pass compares and bills copies of the message
	e.rendered.Wire.Hash()
	e.fresh = true
	return nil
}

func (m *mirror) arrays() (raw, wire []json.Value, err error) {
	wire = append(wire, m.head...)
	for i := range m.entries {
		e := &m.entries[i]
		raw = append(raw, e.raw)
		if !m.isOnWire(i) {
			continue
		}
		patched, err := render.Apply(e.raw, m.patches[e.key])
		if err != nil {
			return nil, nil, fmt.Errorf("message %s: %w", e.key, err)
		}
		wire = append(wire, patched)
	}
	return raw, wire, nil
}
