package mockllm

import (
	"context"
	"net/http"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

// A Step is the answer to one request.
type Step struct {
	Blocks []Block
	// Stop is the stop reason in Anthropic's words. If it is empty, it follows from Blocks: "tool_use"
	// if there is a call, else "end_turn".
	Stop string
	// Usage overrides the simulated usage. If Output is zero, it is still estimated.
	Usage *promptcache.Tokens

	// Error is an HTTP error. If it is set, the server answers with it instead of Blocks.
	Error *HTTPError
	// Delay is the time before the server sends anything.
	Delay time.Duration
	// Until is called before the server sends anything, and delays the answer until it returns. It must
	// return when its context ends. Unlike a rule, it may wait for other requests.
	Until func(context.Context)
	// ChunkBytes is the size of the pieces in which texts and arguments are streamed. 0 sends each in
	// one event.
	ChunkBytes int
	// Drop cuts the connection at the point where the final events would follow.
	Drop bool
	// Hang makes the server never answer. The request ends when the client gives up.
	Hang bool
}

// An HTTPError is a provider's refusal.
type HTTPError struct {
	Status int
	// Type and Message fill the error body of the dialect.
	Type, Message string
	Header        http.Header
}

type blockKind int

const (
	kindText blockKind = iota
	kindThinking
	kindRedacted
	kindTool
	kindStreamError
)

// A Block is one piece of an answer. Functions such as Text, Thinking and Tool make it.
type Block struct {
	kind      blockKind
	text      string // the text, thinking, redacted data or error message
	signature string
	id, name  string // for a tool call; in a stream error, name is the type of the error
	input     string // the arguments as they are sent, which need not be valid JSON
}

// Text is plain text.
func Text(text string) Block { return Block{kind: kindText, text: text} }

// Thinking is a reasoning block with the provider's signature.
func Thinking(text, signature string) Block {
	return Block{kind: kindThinking, text: text, signature: signature}
}

// RedactedThinking is a reasoning block whose data only the provider can read.
func RedactedThinking(data string) Block { return Block{kind: kindRedacted, text: data} }

// Tool is a tool call. input is encoded as JSON. If id is empty, the server chooses an id.
func Tool(id, name string, input any) Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic("mockllm: arguments of a scripted call do not encode: " + err.Error())
	}
	return Block{kind: kindTool, id: id, name: name, input: string(raw)}
}

// BadTool is a tool call whose arguments are sent unchanged, even if they are not JSON.
func BadTool(id, name, rawInput string) Block {
	return Block{kind: kindTool, id: id, name: name, input: rawInput}
}

// StreamError ends a stream with the provider's error event. An answer without streaming leaves it out.
func StreamError(errorType, message string) Block {
	return Block{kind: kindStreamError, name: errorType, text: message}
}

// Say is a step with one text.
func Say(text string) Step { return Step{Blocks: []Block{Text(text)}} }

// Call is a step with one tool call.
func Call(id, name string, input any) Step { return Step{Blocks: []Block{Tool(id, name, input)}} }

// Fail is a step that refuses the request.
func Fail(status int, errorType, message string) Step {
	return Step{Error: &HTTPError{Status: status, Type: errorType, Message: message}}
}

// calls reports whether the step holds a tool call.
func (s Step) calls() bool {
	for _, b := range s.Blocks {
		if b.kind == kindTool {
			return true
		}
	}
	return false
}

// Input returns the arguments of the step's first call of a tool, or "" if it does not call the tool.
func (s Step) Input(tool string) string {
	for _, b := range s.Blocks {
		if b.kind == kindTool && b.name == tool {
			return b.input
		}
	}
	return ""
}

// size returns the length of the model's output in bytes.
func (s Step) size() (n int) {
	for _, b := range s.Blocks {
		n += len(b.text) + len(b.name) + len(b.input)
	}
	return n
}

// A Rule answers the requests that it matches. Rules come before the queue.
type Rule struct {
	// Name is stored in each request that the rule answers.
	Name  string
	Match func(*Request) bool
	// Answer may keep state, because calls to it are not concurrent. It must not call the server.
	Answer func(*Request) Step
}

// Always answers every request with the same step.
func Always(s Step) func(*Request) Step { return func(*Request) Step { return s } }

// InOrder answers with one step after the other. After the last step it refuses requests, as an empty queue does.
func InOrder(steps ...Step) func(*Request) Step {
	next := 0
	return func(*Request) Step {
		if next == len(steps) {
			return exhausted
		}
		next++
		return steps[next-1]
	}
}

// exhausted is an error that harnesses do not retry. Its message tells the author of the test what is
// missing.
var exhausted = Fail(http.StatusBadRequest, "invalid_request_error", "mockllm: the script has no answer for this request")

// SystemContains matches requests whose system prompt contains text.
func SystemContains(text string) func(*Request) bool {
	return func(r *Request) bool { return r.SystemContains(text) }
}

// WithoutTools matches requests that offer no tools, for example for titles and summaries.
func WithoutTools(r *Request) bool { return len(r.Tools) == 0 }

// Model matches requests to one model.
func Model(id string) func(*Request) bool { return func(r *Request) bool { return r.Model == id } }

// All matches a request if every one of the matchers does.
func All(matchers ...func(*Request) bool) func(*Request) bool {
	return func(r *Request) bool {
		for _, m := range matchers {
			if !m(r) {
				return false
			}
		}
		return true
	}
}
