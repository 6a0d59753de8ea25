package session

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// Mode returns the mode that the first pass has stored. If each pass decided, the mode could change back and
// forth, and each change would cost the prefix (bug class A26 in docs/defects.md). Before the first pass, Mode
// returns the zero Mode, in which the model sees no tags.
func (s *Session) Mode() mode.Mode {
	m, _ := mode.Parse(s.Row.Mode)
	return m
}

// ModeOf decides the mode from the whole array of the first pass.
func ModeOf(codec transcript.Codec, messages []json.Value, isSubagent, reduceEnabled bool) mode.Mode {
	return mode.Mode{IsSubagent: isSubagent, Reduces: reduceEnabled && mayReduce(codec, messages)}
}

// mayReduce reports whether the model may call ctx_reduce. The tool switches of the first user message decide this.
func mayReduce(codec transcript.Codec, messages []json.Value) bool {
	for _, raw := range messages {
		m := codec.Decode(raw)
		if m.Role != transcript.User {
			continue
		}
		if on, ok := m.Tools[mode.ReduceTool]; ok {
			return on
		}
		all, ok := m.Tools["*"]
		return !ok || all
	}
	return true
}
