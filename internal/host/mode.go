package host

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A mode says what kind of session this is, and whether its model may drop its
// own tool output. It is decided on the first pass and stored. If it were
// decided on each pass, it could flap, and each change would cost the prefix
// (bug class A26 in docs/defects.md).
type mode string

const (
	modePrimary          mode = "primary"
	modePrimaryNoReduce  mode = "primary-no-reduce"
	modeSubagent         mode = "subagent"
	modeSubagentNoReduce mode = "subagent-no-reduce"
)

const reduceTool = "ctx_reduce"

// modeOf decides the mode from the whole array of the first pass.
func modeOf(codec transcript.Codec, messages []json.Value, isSubagent, reduceEnabled bool) mode {
	reduce := reduceEnabled && mayReduce(codec, messages)
	switch {
	case isSubagent && reduce:
		return modeSubagent
	case isSubagent:
		return modeSubagentNoReduce
	case reduce:
		return modePrimary
	}
	return modePrimaryNoReduce
}

// mayReduce reads the tool switches of the first user message.
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

func (m mode) isSubagent() bool { return m == modeSubagent || m == modeSubagentNoReduce }

// showsTags reports whether the model sees tags, and so can name them.
func (m mode) showsTags() bool { return m == modePrimary || m == modeSubagent }
