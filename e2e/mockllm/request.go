package mockllm

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
)

type Dialect string

const (
	Anthropic Dialect = "anthropic"
	OpenAI    Dialect = "openai"
)

// A Request is a request that the server has received. It does not change once the server has answered it.
type Request struct {
	// Seq numbers the requests in the order of their arrival, from 1.
	Seq     int
	Dialect Dialect
	Path    string
	Header  http.Header
	Body    []byte
	Model   string
	Stream  bool
	// System contains the blocks of the system prompt.
	System   []string
	Tools    []string
	Messages []Message
	// Blocks is the whole prompt in this order: tools, system, messages.
	Blocks    []PromptBlock
	Simulated promptcache.Tokens
	Reported  promptcache.Tokens
	// Rule is the name of the rule that matched the request. If the server refused the request because of its thinking,
	// the rule still matched, but did not get to answer.
	Rule     string
	Thinking ThinkingCheck

	prefix prefix // needed only until the request is answered
}

type Message struct {
	Role    string
	Content []Content
}

// A Content is one block of a message. It has the same form in both dialects, so that a test need not distinguish them:
// in the OpenAI dialect, a call also has the type "tool_use", and a result the type "tool_result".
type Content struct {
	Type      string
	Text      string
	Signature string
	// ID is the id of a call. In a result, it is the id of the call to which the result belongs.
	ID    string
	Name  string
	Input json.Value
}

// A PromptBlock is one block of the prompt. The cache works with whole blocks.
type PromptBlock struct {
	// Where is the block's place, for example "tools[0]" or "messages[2].content[0]:user".
	Where      string
	JSON       json.Value
	Breakpoint bool
}

// The harnesses send the id of the session to the provider in these headers.
const (
	openCodeSession = "X-Session-Id"
	piSession       = "X-Session-Affinity"
)

// Session returns the harness's session id, or "".
func (r *Request) Session() string {
	return cmp.Or(r.Header.Get(openCodeSession), r.Header.Get(piSession))
}

// OpenCode sends Pi's header, too.
func (r *Request) IsPi() bool {
	return r.Header.Get(openCodeSession) == "" && r.Header.Get(piSession) != ""
}

func (r *Request) SystemContains(text string) bool {
	return strings.Contains(strings.Join(r.System, "\n"), text)
}

func (r *Request) Breakpoints() (where []string) {
	for _, b := range r.Blocks {
		if b.Breakpoint {
			where = append(where, b.Where)
		}
	}
	return where
}

// Tokens returns the size of the prompt as the server estimates it.
func (r *Request) Tokens() int { return r.TokensThrough(len(r.Blocks) - 1) }

// TokensThrough returns the estimated tokens from the start of the prompt to the end of Blocks[last].
func (r *Request) TokensThrough(last int) (n int) {
	for _, b := range r.Blocks[:last+1] {
		n += estimateTokens(len(b.JSON))
	}
	return n
}

type body struct {
	Model    string        `json:"model"`
	Stream   bool          `json:"stream"`
	System   json.Value    `json:"system"`
	Tools    []json.Value  `json:"tools"`
	Messages []wireMessage `json:"messages"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    json.Value `json:"content"`
	ToolCallID string     `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	raw json.Value
}

// In the OpenAI dialect, a message is one block of the prompt, so UnmarshalJSON also stores the raw message.
func (m *wireMessage) UnmarshalJSON(data []byte) error {
	type plain wireMessage
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	m.raw = bytes.Clone(data)
	return nil
}

type wireContent struct {
	Type      string     `json:"type"`
	Text      string     `json:"text"`
	Thinking  string     `json:"thinking"`
	Data      string     `json:"data"`
	Signature string     `json:"signature"`
	ID        string     `json:"id"`
	ToolUseID string     `json:"tool_use_id"`
	Name      string     `json:"name"`
	Input     json.Value `json:"input"`
	Content   json.Value `json:"content"`
}

func (r *Request) parse() error {
	var b body
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return fmt.Errorf("decode %s request: %w", r.Dialect, err)
	}
	r.Model, r.Stream = b.Model, b.Stream

	for i, t := range b.Tools {
		r.Tools = append(r.Tools, toolName(t))
		r.addBlock(fmt.Sprintf("tools[%d]", i), t)
	}
	for i, raw := range items(b.System) {
		r.System = append(r.System, textOf(raw))
		r.addBlock(fmt.Sprintf("system[%d]", i), raw)
	}
	for i, m := range b.Messages {
		r.addMessage(i, m)
	}
	return nil
}

func (r *Request) addMessage(i int, m wireMessage) {
	if r.Dialect == OpenAI {
		// The real cache of this dialect works on tokens. Here, a message is the smallest unit.
		r.addBlock(fmt.Sprintf("messages[%d]:%s", i, m.Role), m.raw)
		if m.Role == "system" || m.Role == "developer" {
			r.System = append(r.System, textOf(m.Content))
			return
		}
	}

	msg := Message{Role: m.Role}
	if m.ToolCallID != "" {
		msg.Content = append(msg.Content, Content{Type: "tool_result", ID: m.ToolCallID, Text: textOf(m.Content)})
	} else {
		for j, raw := range items(m.Content) {
			msg.Content = append(msg.Content, content(raw))
			if r.Dialect == Anthropic {
				r.addBlock(fmt.Sprintf("messages[%d].content[%d]:%s", i, j, m.Role), asBlock(raw))
			}
		}
	}
	for _, c := range m.ToolCalls {
		msg.Content = append(msg.Content, Content{
			Type: "tool_use", ID: c.ID, Name: c.Function.Name, Input: json.Value(c.Function.Arguments),
		})
	}
	r.Messages = append(r.Messages, msg)
}

func (r *Request) addBlock(where string, raw json.Value) {
	unmarked, marked := splitMarker(raw)
	r.Blocks = append(r.Blocks, PromptBlock{Where: where, JSON: unmarked, Breakpoint: marked || r.Dialect == OpenAI})
}

// cacheBlocks estimates the size of a block as one token per four bytes. This is good enough to find busts, but not to
// compute a bill.
func (r *Request) cacheBlocks() []promptcache.Block {
	out := make([]promptcache.Block, len(r.Blocks))
	for i, b := range r.Blocks {
		out[i] = promptcache.Block{
			Hash: promptcache.HashOf(b.JSON), Tokens: estimateTokens(len(b.JSON)), Breakpoint: b.Breakpoint,
		}
	}
	return out
}

// Pi sends each prompt as a plain string, except the last one. It sends the last prompt as a text block, because only a
// block can carry a cache breakpoint. For the provider, both forms are the same text. To make them equal for the
// simulated cache, too, asBlock turns a string into a text block.
func asBlock(raw json.Value) json.Value {
	if raw.Kind() != '"' {
		return raw
	}
	return slices.Concat(json.Value(`{"type":"text","text":`), raw, json.Value(`}`))
}

func estimateTokens(bytes int) int { return (bytes + 3) / 4 }

func content(raw json.Value) Content {
	if raw.Kind() == '"' {
		return Content{Type: "text", Text: textOf(raw)}
	}
	var c wireContent
	if json.Unmarshal(raw, &c) != nil {
		return Content{Type: "unreadable", Text: string(raw)}
	}
	out := Content{Type: c.Type, Text: c.Text + c.Thinking + c.Data, Signature: c.Signature, ID: c.ID, Name: c.Name, Input: c.Input}
	if c.Type == "tool_result" {
		out.ID, out.Text = c.ToolUseID, textOf(c.Content)
	}
	return out
}

func toolName(raw json.Value) string {
	var t struct {
		Name     string `json:"name"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	_ = json.Unmarshal(raw, &t) // a tool of another shape has no name
	return t.Name + t.Function.Name
}

func items(raw json.Value) []json.Value {
	switch raw.Kind() {
	case '"', '{':
		return []json.Value{raw}
	case '[':
		var list []json.Value
		_ = json.Unmarshal(raw, &list) // the body has been checked already
		return list
	}
	return nil
}

func textOf(raw json.Value) string {
	switch raw.Kind() {
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s)
		return s
	case '{':
		var b struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(raw, &b)
		return b.Text
	case '[':
		var texts []string
		for _, item := range items(raw) {
			texts = append(texts, textOf(item))
		}
		return strings.Join(texts, "\n")
	}
	return ""
}

// splitMarker removes cache_control from a block, and reports whether the block had it. All other bytes stay the same,
// so two blocks with the same content are equal with or without a marker.
func splitMarker(raw json.Value) (json.Value, bool) {
	if raw.Kind() != '{' || !bytes.Contains(raw, []byte(`"cache_control"`)) {
		return raw, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return raw, false
	}
	out := []byte{'{'}
	marked := false
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return raw, false
		}
		isMarker := string(name) == `"cache_control"`
		nameLen := len(out)
		if nameLen > 1 {
			out = append(out, ',')
		}
		out = append(append(out, name...), ':')
		value, err := dec.ReadValue()
		if err != nil {
			return raw, false
		}
		if isMarker {
			out, marked = out[:nameLen], true
			continue
		}
		out = append(out, value...)
	}
	return append(out, '}'), marked
}
