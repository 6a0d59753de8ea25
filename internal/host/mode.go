package host

import (
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A mode is what a session gets (spec transform §8). It is decided on the first
// pass and stored: a mode that flapped would change the prefix each time (A26).
type mode string

// The modes.
const (
	modePrimary          mode = "primary"
	modePrimaryNoReduce  mode = "primary-no-reduce"
	modeSubagent         mode = "subagent"
	modeSubagentNoReduce mode = "subagent-no-reduce"
)

const reduceTool = "ctx_reduce"

// modeOf decides the mode from the whole array of a first pass.
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
