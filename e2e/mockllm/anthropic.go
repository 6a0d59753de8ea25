package mockllm

import (
	"fmt"
	"iter"
)

func anthropicEvents(req *Request, step Step) iter.Seq[event] {
	return func(yield func(event) bool) {
		send := func(kind string, fields object) bool {
			fields["type"] = kind
			return yield(event{kind, fields})
		}
		usage := anthropicUsage(req)
		usage["output_tokens"] = 1 // message_delta has the final count
		message := object{
			"id": messageID(req), "type": "message", "role": "assistant", "model": req.Model, "content": []any{},
			"stop_reason": nil, "stop_sequence": nil, "usage": usage,
		}
		if list := req.Thinking.transformations(); list != nil {
			message["input_transformations"] = list
		}
		if !send("message_start", object{"message": message}) {
			return
		}
		for i, b := range step.Blocks {
			if b.kind == kindStreamError {
				send("error", object{"error": object{"type": b.name, "message": b.text}})
				return
			}
			if !send("content_block_start", object{"index": i, "content_block": b.anthropicOpening()}) {
				return
			}
			for _, delta := range b.anthropicDeltas(step.ChunkBytes) {
				if !send("content_block_delta", object{"index": i, "delta": delta}) {
					return
				}
			}
			if !send("content_block_stop", object{"index": i}) {
				return
			}
		}
		if step.Drop {
			return
		}
		_ = send("message_delta", object{
			"delta": object{"stop_reason": anthropicStop(step), "stop_sequence": nil},
			"usage": object{"output_tokens": req.Reported.Output},
		}) && send("message_stop", object{})
	}
}

func (b Block) anthropicOpening() object {
	switch b.kind {
	case kindThinking:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case kindRedacted:
		return object{"type": "redacted_thinking", "data": b.text}
	case kindTool:
		return object{"type": "tool_use", "id": b.id, "name": b.name, "input": object{}}
	}
	return object{"type": "text", "text": ""}
}

func (b Block) anthropicDeltas(chunkBytes int) (deltas []object) {
	switch b.kind {
	case kindThinking:
		for _, s := range chunks(b.text, chunkBytes) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": s})
		}
		deltas = append(deltas, object{"type": "signature_delta", "signature": b.signature})
	case kindTool:
		for _, s := range chunks(b.input, chunkBytes) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": s})
		}
	case kindText:
		for _, s := range chunks(b.text, chunkBytes) {
			deltas = append(deltas, object{"type": "text_delta", "text": s})
		}
	}
	return deltas
}

func anthropicAnswer(req *Request, step Step) object {
	content := []object{}
	for _, b := range step.Blocks {
		switch b.kind {
		case kindText:
			content = append(content, object{"type": "text", "text": b.text})
		case kindThinking:
			content = append(content, object{"type": "thinking", "thinking": b.text, "signature": b.signature})
		case kindRedacted:
			content = append(content, object{"type": "redacted_thinking", "data": b.text})
		case kindTool:
			content = append(content, object{"type": "tool_use", "id": b.id, "name": b.name, "input": b.validInput()})
		}
	}
	answer := object{
		"id": messageID(req), "type": "message", "role": "assistant", "model": req.Model, "content": content,
		"stop_reason": anthropicStop(step), "stop_sequence": nil, "usage": anthropicUsage(req),
	}
	if list := req.Thinking.transformations(); list != nil {
		answer["input_transformations"] = list
	}
	return answer
}

func anthropicStop(step Step) string {
	switch {
	case step.Stop != "":
		return step.Stop
	case step.calls():
		return "tool_use"
	}
	return "end_turn"
}

// Anthropic's input_tokens does not include tokens that were read from or written to the cache.
func anthropicUsage(req *Request) object {
	return object{
		"input_tokens":                req.Reported.Fresh,
		"cache_creation_input_tokens": req.Reported.Write,
		"cache_read_input_tokens":     req.Reported.Read,
		"output_tokens":               req.Reported.Output,
	}
}

func messageID(req *Request) string { return fmt.Sprintf("msg_mock%06d", req.Seq) }
