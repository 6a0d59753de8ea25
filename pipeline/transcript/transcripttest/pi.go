package transcripttest

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

type obj = map[string]any

// onePixel is a real PNG, because some programs read the first bytes of an image.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

// ToPi translates a message of OpenCode into a step of Pi. It replaces the signature of a thinking block with another
// signature of the same length. It also writes the model of a user message into fields that no codec reads, so that
// tests can find it there.
func ToPi(raw json.Value) (json.Value, error) {
	m := transcript.OpenCode{}.Decode(raw)
	content, results := []any{}, []any{}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case transcript.Text:
			if p.Hidden && p.Text != "" {
				continue // Pi would not put a status into the array
			}
			content = append(content, obj{"type": "text", "text": p.Text})
		case transcript.Reasoning:
			b := obj{"type": "thinking", "thinking": p.Text}
			if p.Signature != nil {
				b["thinkingSignature"] = "sig-" + p.Text + strings.Repeat("x", max(0, len(p.Signature)-len(`"sig-"`)-len(p.Text)))
				b["redacted"] = p.Text == ""
			}
			content = append(content, b)
		case transcript.File:
			_, data, _ := strings.Cut(p.URL, ";base64,")
			content = append(content, obj{"type": "image", "data": data, "mimeType": p.Mime})
		case transcript.Tool:
			content = append(content, obj{"type": "toolCall", "id": p.CallID, "name": p.Name, "arguments": p.Input})
			if p.HasResult() {
				blocks := []any{obj{"type": "text", "text": p.Text}}
				if len(p.Attachments) > 0 {
					blocks = append(blocks, obj{"type": "image", "data": onePixel, "mimeType": "image/png"})
				}
				results = append(results, obj{"role": "toolResult", "toolCallId": p.CallID, "content": blocks, "isError": p.IsError, "timestamp": m.Completed})
			}
		case transcript.Other:
			if !p.Hidden {
				content = append(content, p.Raw)
			}
		}
	}
	message := obj{"role": string(m.Role), "content": content, "timestamp": m.Created, "provider": m.Model.Provider, "model": m.Model.ID}
	if m.Role == transcript.Assistant {
		message["stopReason"] = map[transcript.Finish]string{transcript.EndsTurn: "stop", transcript.EndsWithCalls: "toolUse", transcript.EndsOtherwise: "length"}[m.Finish]
		if m.Errored {
			message["stopReason"] = "aborted"
		}
		message["usage"] = obj{"input": m.Usage.Input, "output": m.Usage.Output, "cacheRead": m.Usage.CacheRead, "cacheWrite": m.Usage.CacheWrite}
	}
	step := obj{"id": m.Key, "message": message}
	if len(results) > 0 {
		step["results"] = results
	}
	return json.Marshal(step)
}
