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
	// Stop is the stop reason in Anthropic's words. If empty, it is "tool_use" after a call, else "end_turn".
	Stop string
	// Usage overrides the simulated usage. If Output is zero, it is still estimated.
	Usage *promptcache.Tokens

	// If Error is set, the server sends this HTTP error and no Blocks.
	Error *HTTPError
	Delay time.Duration
	// The server calls Until before it sends anything, and waits for its end. Until must return when its
	// context ends. Unlike a rule, it may wait for other requests.
	Until func(context.Context)
	// ChunkBytes is the size of the pieces in which texts and arguments are streamed. With 0, each is one event.
	ChunkBytes int
	// Drop cuts the connection before the final events.
	Drop bool
	// If Hang is true, the server never answers, and the request ends when the client gives up.
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
	id, name  string // for a tool call; in a stream error, name is the type of the error
	input     string // the arguments as they are sent, which need not be valid JSON
}

func Text(text string) Block { return Block{kind: kindText, text: text} }

func Thinking(text, signature string) Block {
	return Block{kind: kindThinking, text: text, signature: signature}
}

// RedactedThinking is a reasoning block whose data only the provider can read.
func RedactedThinking(data string) Block { return Block{kind: kindRedacted, text: data} }

// Tool is a tool call. If id is empty, the server chooses an id.
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

// Input returns the arguments of the step's first call of a tool, or "".
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

// A Rule answers the requests that it matches. Rules come before the queue.
type Rule struct {
	Name  string
	Match func(*Request) bool
	// Calls of Answer are not concurrent, so Answer may keep state. It must not call the server.
	Answer func(*Request) Step
}

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

// Harnesses do not retry after this error.
var exhausted = Fail(http.StatusBadRequest, "invalid_request_error", "mockllm: the script has no answer for this request")

func SystemContains(text string) func(*Request) bool {
	return func(r *Request) bool { return r.SystemContains(text) }
}

// WithoutTools matches requests that offer no tools, for example for titles and summaries.
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
