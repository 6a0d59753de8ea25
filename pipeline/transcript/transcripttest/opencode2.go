package transcripttest

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// ToOpenCode2 returns a message of OpenCode 1 as a step of OpenCode 2. In OpenCode 2, the shim names the model of each
// pass, and a test has to do the same. So ToOpenCode2 stores the model of a user message in the member "asked". Tests
// read this member, but no codec does.
func ToOpenCode2(raw json.Value) (json.Value, error) {
	m := transcript.OpenCode{}.Decode(raw)
	content, results, media := []any{}, []any{}, obj{}
	info := obj{"type": string(m.Role), "created": m.Created, "media": media}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case transcript.Text:
			if p.Hidden && p.Text != "" {
				continue // OpenCode 2 would not put a status into the array
			}
			text := obj{"type": "text", "text": p.Text}
			if m.Role == transcript.User && p.Origin == transcript.FromFile {
				text["metadata"] = obj{"attachment": obj{}}
			}
			if _, isTaken := info["typed"]; m.Role == transcript.User && p.Origin == transcript.FromUser && !isTaken {
				info["typed"] = len(content)
			}
			content = append(content, text)
		case transcript.Reasoning:
			b := obj{"type": "reasoning", "text": p.Text}
			if p.Signature != nil {
				b["providerMetadata"] = p.Signature
			}
			content = append(content, b)
		case transcript.File:
			media[fmt.Sprintf("/message/content/%d", len(content))] = p.URL
			content = append(content, obj{"type": "media", "media": obj{"mediaType": p.Mime}})
		case transcript.Tool:
			content = append(content, obj{"type": "tool-call", "id": p.CallID, "name": p.Name, "input": p.Input})
			if p.HasResult() {
				result := obj{"type": "text", "value": p.Text}
				switch {
				case p.IsError:
					result = obj{"type": "error", "value": obj{"error": obj{"type": "tool.execution", "message": p.Text}, "content": []any{}}}
				case len(p.Attachments) > 0:
					result = obj{"type": "content", "value": []any{obj{"type": "text", "text": p.Text}, obj{"type": "file", "mime": "image/png"}}}
				}
				results = append(results, obj{"role": "tool", "content": []any{obj{"type": "tool-result", "id": p.CallID, "name": p.Name, "result": result}}})
			}
		case transcript.Other:
			if !p.Hidden {
				content = append(content, p.Raw)
			}
		}
	}
	message := obj{"id": m.Key, "role": string(m.Role), "content": content}
	if m.Role == transcript.Assistant {
		info["completed"], info["providerID"], info["modelID"] = m.Completed, m.Model.Provider, m.Model.ID
		info["finish"] = map[transcript.Finish]string{transcript.EndsTurn: "stop", transcript.EndsWithCalls: "tool-calls", transcript.EndsOtherwise: "length"}[m.Finish]
		info["tokens"] = transcript.OpenCode2{}.UsageValue(m.Usage)
		if m.Errored {
			info["error"] = obj{"type": "aborted"}
		}
	} else {
		info["asked"] = obj{"provider": m.Model.Provider, "model": m.Model.ID}
		if m.Agent != "" {
			info["agent"] = m.Agent
		}
		if _, isTyped := info["typed"]; !isTyped {
			info["typed"] = -1
		}
	}
	step := obj{"id": m.Key, "info": info, "message": message}
	if len(results) > 0 {
		step["results"] = results
	}
	return json.Marshal(step)
}
