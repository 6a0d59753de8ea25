package mockllm

import (
	"fmt"
	"iter"
	"strings"
)

func openaiEvents(req *Request, step Step) iter.Seq[event] {
	return func(yield func(event) bool) {
		chunk := func(delta object, finish any) bool {
			return yield(event{data: openaiObject(req, "chat.completion.chunk", object{
				"index": 0, "delta": delta, "finish_reason": finish,
			})})
		}
		if !chunk(object{"role": "assistant", "content": ""}, nil) {
			return
		}
		calls := 0
		for _, b := range step.Blocks {
			if b.kind == kindStreamError {
				yield(event{data: object{"error": object{"type": b.name, "message": b.text}}})
				return
			}
			for _, delta := range b.openaiDeltas(calls, step.ChunkBytes) {
				if !chunk(delta, nil) {
					return
				}
			}
			if b.kind == kindTool {
				calls++
			}
		}
		if step.Drop || !chunk(object{}, openaiFinish(step)) {
			return
		}
		last := openaiObject(req, "chat.completion.chunk")
		last["usage"] = openaiUsage(req)
		_ = yield(event{data: last}) && yield(event{data: "[DONE]"})
	}
}

func (b Block) openaiDeltas(callIndex, chunkBytes int) (deltas []object) {
	switch b.kind {
	case kindText:
		for _, s := range chunks(b.text, chunkBytes) {
			deltas = append(deltas, object{"content": s})
		}
	case kindThinking:
		for _, s := range chunks(b.text, chunkBytes) {
			deltas = append(deltas, object{"reasoning_content": s})
		}
	case kindTool:
		deltas = append(deltas, object{"tool_calls": []object{{
			"index": callIndex, "id": b.id, "type": "function", "function": object{"name": b.name, "arguments": ""},
		}}})
		for _, s := range chunks(b.input, chunkBytes) {
			deltas = append(deltas, object{"tool_calls": []object{{"index": callIndex, "function": object{"arguments": s}}}})
		}
	}
	return deltas
}

func openaiAnswer(req *Request, step Step) object {
	var text, reasoning strings.Builder
	var calls []object
	for _, b := range step.Blocks {
		switch b.kind {
		case kindText:
			text.WriteString(b.text)
		case kindThinking:
			reasoning.WriteString(b.text)
		case kindTool:
			calls = append(calls, object{
				"id": b.id, "type": "function", "function": object{"name": b.name, "arguments": b.input},
			})
		}
	}
	message := object{"role": "assistant", "content": text.String()}
	if reasoning.Len() > 0 {
		message["reasoning_content"] = reasoning.String()
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	out := openaiObject(req, "chat.completion", object{"index": 0, "message": message, "finish_reason": openaiFinish(step)})
	out["usage"] = openaiUsage(req)
	return out
}

func openaiObject(req *Request, kind string, choices ...object) object {
	if choices == nil {
		choices = []object{}
	}
	return object{
		"id": fmt.Sprintf("chatcmpl-mock%06d", req.Seq), "object": kind, "created": 0, "model": req.Model, "choices": choices,
	}
}

func openaiFinish(step Step) string {
	switch {
	case step.Stop == "max_tokens":
		return "length"
	case step.Stop == "refusal":
		return "content_filter"
	case step.calls():
		return "tool_calls"
	}
	return "stop"
}

// OpenAI's prompt_tokens includes the tokens that were read from the cache. Writes to the cache are not reported.
func openaiUsage(req *Request) object {
	prompt := req.Reported.Prompt()
	return object{
		"prompt_tokens": prompt, "completion_tokens": req.Reported.Output, "total_tokens": prompt + req.Reported.Output,
		"prompt_tokens_details": object{"cached_tokens": req.Reported.Read},
	}
}
