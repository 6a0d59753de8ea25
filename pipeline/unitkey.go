package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// unitKeys computes the keys of one message's units, so that the host finds the units again when the array is
// rebuilt. A key has the harness's part id or, without a lasting id, the call id of a tool or a hash of the content.
// Positions are not lasting, because parts move inside a message (C2 in docs/defects.md). The key includes the
// message's key, because providers reuse call ids in later turns (B10, C1).
type unitKeys struct {
	message string
	seen    map[string]int
}

// A message that the harness hides has no units: it is not in the prompt, so dropping its content would free nothing.
func newUnitKeys(m *transcript.Message) *unitKeys {
	if m.Hidden {
		return &unitKeys{}
	}
	return &unitKeys{message: m.Key}
}

// Hidden parts, blank texts (C8 in docs/defects.md), reasoning, and parts of a message without id are no units: "".
func (k *unitKeys) of(p *transcript.Part) string {
	if k.message == "" || p.Hidden {
		return ""
	}
	content := ""
	switch p.Kind {
	case transcript.Text:
		if strings.TrimSpace(p.Text) == "" {
			return ""
		}
		content = p.Text
	case transcript.File:
		content = p.URL
	case transcript.Tool:
	default:
		return ""
	}
	if p.ID != "" {
		return k.message + "\x00p:" + p.ID
	}
	name := "\x00c:" + p.CallID
	if p.Kind != transcript.Tool {
		sum := sha256.Sum256([]byte(content))
		name = "\x00h:" + hex.EncodeToString(sum[:8])
	}
	if k.seen == nil {
		k.seen = make(map[string]int)
	}
	k.seen[name]++
	if n := k.seen[name]; n > 1 {
		name += ":" + strconv.Itoa(n)
	}
	return k.message + name
}
