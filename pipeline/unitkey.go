package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/pipeline/render"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// unitKeys names the units of one message so that they are found again when the
// array is rebuilt: by the harness's part id, by the call id of a tool, or,
// where the harness gives no id that lasts, by content. Never by position: parts
// move (bug class C2), and never by call id alone: providers use one again in
// later turns (B10, C1).
type unitKeys struct {
	message string
	seen    map[string]int
}

func newUnitKeys(m *transcript.Message) *unitKeys { return &unitKeys{message: m.Key} }

// of returns the key of the unit that p is, or "" when p is none: a part that
// the provider does not see, blank text (C8), reasoning, or a part of a message
// without id.
func (k *unitKeys) of(p *transcript.Part) string {
	if k.message == "" || p.Hidden {
		return ""
	}
	content := ""
	switch p.Kind {
	case transcript.Text:
		if strings.TrimSpace(render.StripTags(p.Text)) == "" {
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
