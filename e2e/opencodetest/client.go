package opencodetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A Client calls the HTTP API of an OpenCode process, for one project.
type Client struct {
	base, directory string
	http            *http.Client
}

func newClient(base, directory string) *Client {
	// The answer to a prompt comes only at the end of the turn, so the client has no timeout. Only the context limits
	// the wait.
	return &Client{base: base, directory: directory, http: &http.Client{Transport: &http.Transport{}}}
}

type Session struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	ParentID string `json:"parentID"`
}

type Message struct {
	Info  Info   `json:"info"`
	Parts []Part `json:"parts"`
}

type Info struct {
	ID      string     `json:"id"`
	Role    string     `json:"role"`
	Finish  string     `json:"finish"`
	Summary json.Value `json:"summary"`
	Error   *struct {
		Name string     `json:"name"`
		Data json.Value `json:"data"`
	} `json:"error"`
}

type Part struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status string `json:"status"`
		Output string `json:"output"`
		Error  string `json:"error"`
	} `json:"state"`
}

// Err returns the error that OpenCode has stored with the message. It is nil if there is none.
func (m Message) Err() error {
	if m.Info.Error == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", m.Info.Error.Name, m.Info.Error.Data)
}

func (m Message) Text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// If Title is empty, OpenCode asks the small model for a title during the first turn.
type NewSession struct {
	Title    string `json:"title,omitempty"`
	ParentID string `json:"parentID,omitempty"`
}

func (c *Client) CreateSession(ctx context.Context, s NewSession) (Session, error) {
	var out Session
	return out, c.Call(ctx, http.MethodPost, "/session", s, &out)
}

type Prompt struct {
	Text  string
	Files []File
	// Model is "provider/model". If it is empty, the session's model answers.
	Model string
	Agent string
	// Variant is a reasoning effort, for example "high".
	Variant string
	// NoReply stores the message without asking the model.
	NoReply bool
}

// The URL of a File may be a data URL.
type File struct{ Mime, Name, URL string }

func (p Prompt) body() object {
	parts := []object{{"type": "text", "text": p.Text}}
	for _, f := range p.Files {
		parts = append(parts, object{"type": "file", "mime": f.Mime, "filename": f.Name, "url": f.URL})
	}
	body := object{"parts": parts}
	if provider, model, ok := strings.Cut(p.Model, "/"); ok {
		body["model"] = object{"providerID": provider, "modelID": model}
	}
	if p.Agent != "" {
		body["agent"] = p.Agent
	}
	if p.Variant != "" {
		body["variant"] = p.Variant
	}
	if p.NoReply {
		body["noReply"] = true
	}
	return body
}

// Prompt waits until the turn ends, and returns its last message. If the turn fails, Prompt returns an error.
func (c *Client) Prompt(ctx context.Context, session string, p Prompt) (Message, error) {
	var out Message
	if err := c.Call(ctx, http.MethodPost, "/session/"+session+"/message", p.body(), &out); err != nil {
		return out, err
	}
	if err := out.Err(); err != nil {
		return out, fmt.Errorf("prompt %s: %w", session, err)
	}
	return out, nil
}

func (c *Client) PromptAsync(ctx context.Context, session string, p Prompt) error {
	return c.Call(ctx, http.MethodPost, "/session/"+session+"/prompt_async", p.body(), nil)
}

func (c *Client) Abort(ctx context.Context, session string) error {
	return c.Call(ctx, http.MethodPost, "/session/"+session+"/abort", object{}, nil)
}

// Revert goes back to the point before the message. The next prompt deletes the later messages.
func (c *Client) Revert(ctx context.Context, session, message string) error {
	return c.Call(ctx, http.MethodPost, "/session/"+session+"/revert", object{"messageID": message}, nil)
}

// Unrevert works until the next prompt.
func (c *Client) Unrevert(ctx context.Context, session string) error {
	return c.Call(ctx, http.MethodPost, "/session/"+session+"/unrevert", object{}, nil)
}

// Fork copies all messages before the given message, with new ids. If `message` is empty, it copies all messages.
func (c *Client) Fork(ctx context.Context, session, message string) (Session, error) {
	body := object{}
	if message != "" {
		body["messageID"] = message
	}
	var out Session
	return out, c.Call(ctx, http.MethodPost, "/session/"+session+"/fork", body, &out)
}

func (c *Client) Summarize(ctx context.Context, session, model string) error {
	provider, id, _ := strings.Cut(model, "/")
	return c.Call(ctx, http.MethodPost, "/session/"+session+"/summarize", object{"providerID": provider, "modelID": id}, nil)
}

func (c *Client) Messages(ctx context.Context, session string) ([]Message, error) {
	var out []Message
	return out, c.Call(ctx, http.MethodGet, "/session/"+session+"/message", nil, &out)
}

// Call sends a request with `body` to OpenCode's API. If `out` is not nil, Call decodes the answer into it.
func (c *Client) Call(ctx context.Context, method, route string, body, out any) error {
	res, err := c.do(ctx, method, route, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, route, err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %.500s", method, route, res.Status, raw)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("%s %s: decode answer %.200q: %w", method, route, raw, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, route string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, route, err)
		}
		reader = bytes.NewReader(raw)
	}
	target := c.base + route + "?" + url.Values{"directory": {c.directory}}.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, route, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, route, err)
	}
	return res, nil
}

type Event struct {
	Type       string     `json:"type"`
	Properties json.Value `json:"properties"`
}

// Events waits until OpenCode has confirmed the subscription, and then returns the events as a sequence. The sequence
// ends when ctx ends, or when the caller leaves its loop.
func (c *Client) Events(ctx context.Context) (iter.Seq[Event], error) {
	ctx, cancel := context.WithCancel(ctx)
	res, err := c.do(ctx, http.MethodGet, "/event", nil) //nolint:bodyclose // closed when the loop over the events ends
	if err != nil {
		cancel()
		return nil, err
	}
	lines := bufio.NewReader(res.Body)
	first, err := nextEvent(lines)
	if err == nil && first.Type != "server.connected" {
		err = fmt.Errorf("first event is %s, want server.connected", first.Type)
	}
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("subscribe to events: %w", err), res.Body.Close())
	}
	return func(yield func(Event) bool) {
		defer cancel()
		defer res.Body.Close()
		for {
			e, err := nextEvent(lines)
			if err != nil || !yield(e) {
				return
			}
		}
	}, nil
}

func nextEvent(lines *bufio.Reader) (e Event, err error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return e, err
		}
		if data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:")); ok {
			return e, json.Unmarshal(data, &e)
		}
	}
}

func (c *Client) Close() { c.http.CloseIdleConnections() }
