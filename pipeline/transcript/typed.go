package transcript

import (
	"maps"

	"github.com/magicctx/magicctx-host/internal/json"
)

// WithTyped returns a codec that sets Part.Typed to the command line that the user typed. The messages themselves do
// not contain these lines, so `lines` maps message keys to them.
func WithTyped(c Codec, lines map[string]string) Codec {
	if len(lines) == 0 {
		return c
	}
	if known, ok := c.(typedCodec); ok {
		all := maps.Clone(known.lines) // a decoder in another goroutine may still read the old map
		maps.Copy(all, lines)
		return typedCodec{known.Codec, all}
	}
	return typedCodec{c, maps.Clone(lines)}
}

type typedCodec struct {
	Codec
	lines map[string]string
}

// Decode sets the field Typed of the first text whose author is the user. In a message that the harness made from a
// command, this text is the command's template, and all other texts belong to attached files.
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
