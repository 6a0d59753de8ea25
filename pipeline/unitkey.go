package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// unitKeys computes the keys by which the host recognises the units of a message in a later array. A key consists of
// the message's key and the harness's id of the part. If that id may change, the call id of a tool or a hash of the
// content replaces it. The position is not part of the key, because parts move within a message (C2 in
// docs/defects.md). The message's key is necessary, because some providers reuse call ids in later turns (B10, C1).
type unitKeys struct {
	message string
	seen    map[string]int
}

// newUnitKeys gives no keys to a message that the harness hides. Such a message is not in the prompt, so a drop of its
// content would free nothing.
func newUnitKeys(m *transcript.Message) *unitKeys {
	if m.Hidden {
		return &unitKeys{}
	}
	return &unitKeys{message: m.Key}
}

// The method `of` returns the key of a part's unit. Some parts are not units, and their key is "": hidden parts, blank
// texts (C8 in docs/defects.md), reasoning, and the parts of a message that has no id.
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
