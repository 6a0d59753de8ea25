package mockllm

import (
	"context"
	"net/http"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

type Step struct {
	Blocks []Block
	// Stop is the stop reason in Anthropic's terms. The default is "tool_use" if the answer has a call, and "end_turn"
	// otherwise.
	Stop string
	// If Usage is set, it replaces the simulated usage. If its Output is 0, the output is estimated.
	Usage *promptcache.Tokens

	// If Error is set, the server sends this HTTP error instead of Blocks.
	Error *HTTPError
	Delay time.Duration
	// If Until is set, the server calls it, and sends nothing until it returns. Until must return when its context
	// ends. Until may wait for another request. A rule must not, because rules run one at a time.
	Until func(context.Context)
	// ChunkBytes is the size of the events in which a text is streamed. If it is 0, each text is one event.
	ChunkBytes int
	// Drop cuts the connection before the final events.
	Drop bool
	// If Hang is true, the server does not answer until the client gives up.
	Hang bool
}

type HTTPError struct {
	Status        int
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

// Functions like Text, Thinking and Tool make a Block.
type Block struct {
	kind      blockKind
	text      string // the text, thinking, redacted data or error message
	signature string
	id, name  string // for a call: its id and name; for a stream error, name is the error's type
	input     string // the arguments as they are sent; they need not be valid JSON
}

func Text(text string) Block { return Block{kind: kindText, text: text} }

func Thinking(text, signature string) Block {
	return Block{kind: kindThinking, text: text, signature: signature}
}

// RedactedThinking is thinking that only the provider can read.
func RedactedThinking(data string) Block { return Block{kind: kindRedacted, text: data} }

// Tool returns a block with a tool call. If id is empty, the server chooses the id.
func Tool(id, name string, input any) Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic("mockllm: arguments of a scripted call do not encode: " + err.Error())
	}
	return Block{kind: kindTool, id: id, name: name, input: string(raw)}
}

// BadTool returns a block with a tool call whose arguments are sent unchanged, even if they are not valid JSON.
func BadTool(id, name, rawInput string) Block {
	return Block{kind: kindTool, id: id, name: name, input: rawInput}
}

// StreamError ends a stream with the provider's error event. Without streaming, it is ignored.
func StreamError(errorType, message string) Block {
	return Block{kind: kindStreamError, name: errorType, text: message}
}

func Say(text string) Step { return Step{Blocks: []Block{Text(text)}} }

func Call(id, name string, input any) Step { return Step{Blocks: []Block{Tool(id, name, input)}} }

func Fail(status int, errorType, message string) Step {
	return Step{Error: &HTTPError{Status: status, Type: errorType, Message: message}}
}

func (s Step) calls() bool {
	for _, b := range s.Blocks {
		if b.kind == kindTool {
			return true
		}
	}
	return false
}

// Input returns the arguments of the first call of the tool. If there is no such call, it returns "".
func (s Step) Input(tool string) string {
	for _, b := range s.Blocks {
		if b.kind == kindTool && b.name == tool {
			return b.input
		}
	}
	return ""
}

func (s Step) size() (n int) {
	for _, b := range s.Blocks {
		n += len(b.text) + len(b.name) + len(b.input)
	}
	return n
}

// A Rule answers the requests for which Match returns true. The server tries the rules before it takes a step from the
// queue.
type Rule struct {
	Name  string
	Match func(*Request) bool
	// The server never calls Answer twice at the same time, so Answer may change variables. Answer must not call the
	// server.
	Answer func(*Request) Step
}

func Always(s Step) func(*Request) Step { return func(*Request) Step { return s } }

// InOrder returns a function for Rule.Answer. The function gives the steps one after the other, and then refuses all
// requests, as an empty queue does.
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

// Harnesses do not retry after this error.
var exhausted = Fail(http.StatusBadRequest, "invalid_request_error", "mockllm: the script has no answer for this request")

func SystemContains(text string) func(*Request) bool {
	return func(r *Request) bool { return r.SystemContains(text) }
}

// WithoutTools matches requests without tools, for example requests for titles or summaries.
func WithoutTools(r *Request) bool { return len(r.Tools) == 0 }

func Model(id string) func(*Request) bool { return func(r *Request) bool { return r.Model == id } }

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
