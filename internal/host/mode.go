package host

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/mode"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// The tools that the host offers to the model.
const (
	reduceTool = "ctx_reduce"
	expandTool = transcript.ExpandTool
)

// mode returns the session's mode. The first pass decides the mode and stores it. If each pass decided it,
// the mode could change back and forth, and each change would cost the prefix (bug class A26 in
// docs/defects.md). Before the first pass, mode returns the zero Mode, in which the model sees no tags.
func (s *session) mode() mode.Mode {
	m, _ := mode.Parse(s.row.Mode)
	return m
}

// modeOf decides the mode from the whole array of the first pass.
func modeOf(codec transcript.Codec, messages []json.Value, isSubagent, reduceEnabled bool) mode.Mode {
	return mode.Mode{IsSubagent: isSubagent, Reduces: reduceEnabled && mayReduce(codec, messages)}
}

// mayReduce reads from the first user message whether its tool switches allow ctx_reduce.
func mayReduce(codec transcript.Codec, messages []json.Value) bool {
	for _, raw := range messages {
		m := codec.Decode(raw)
		if m.Role != transcript.User {
			continue
		}
		if on, ok := m.Tools[reduceTool]; ok {
			return on
		}
		all, ok := m.Tools["*"]
		return !ok || all
	}
	return true
}
