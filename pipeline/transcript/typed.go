package transcript

import (
	"maps"

	"github.com/magicctx/magicctx-host/internal/json"
)

// WithTyped returns a codec that sets Part.Typed from lines: the typed lines by message key. The messages lack these
// lines.
func WithTyped(c Codec, lines map[string]string) Codec {
	if len(lines) == 0 {
		return c
	}
	if known, ok := c.(typedCodec); ok {
		all := maps.Clone(known.lines) // a decoder in another goroutine may still read it
		maps.Copy(all, lines)
		return typedCodec{known.Codec, all}
	}
	return typedCodec{c, maps.Clone(lines)}
}

type typedCodec struct {
	Codec
	lines map[string]string
}

// In a message made from a command, the first text with the user's origin is the command's template. The other texts
// belong to attached files.
func (c typedCodec) Decode(raw json.Value) Message {
	m := c.Codec.Decode(raw)
	line := c.lines[m.Key]
	if m.Role != User || line == "" {
		return m
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == Text && p.Origin == FromUser && !p.Hidden {
			p.Typed = line
			break
		}
	}
	return m
}
