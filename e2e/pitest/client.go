package pitest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
)

type State struct {
	IsStreaming  bool   `json:"isStreaming"`
	IsCompacting bool   `json:"isCompacting"`
	SessionFile  string `json:"sessionFile"`
	SessionID    string `json:"sessionId"`
	Model        struct {
		ID       string `json:"id"`
		Provider string `json:"provider"`
	} `json:"model"`
}

type Message struct {
	Role         string     `json:"role"`
	Content      json.Value `json:"content"`
	StopReason   string     `json:"stopReason"`
	ErrorMessage string     `json:"errorMessage"`
	ToolCallID   string     `json:"toolCallId"`
	ToolName     string     `json:"toolName"`
	IsError      bool       `json:"isError"`
	Timestamp    int64      `json:"timestamp"`
}

func (m Message) Text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &blocks) // no other content has text
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Err returns the error with which the provider ended the answer. It is nil if there is none.
func (m Message) Err() error {
	if m.StopReason == "error" {
		return fmt.Errorf("pi: %s", m.ErrorMessage)
	}
	return nil
}

type Entry struct {
	Type     string  `json:"type"`
	ID       string  `json:"id"`
	ParentID string  `json:"parentId"`
	Message  Message `json:"message"`
}

type Prompt struct {
	Text string
	PNGs [][]byte
	// While the model works, Behaviour must be "steer" or "followUp".
	Behaviour string
}

func (p Prompt) body() object {
	body := object{"message": p.Text}
	var images []object
	for _, png := range p.PNGs {
		images = append(images, object{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(png)})
	}
	if images != nil {
		body["images"] = images
	}
	if p.Behaviour != "" {
		body["streamingBehavior"] = p.Behaviour
	}
	return body
}

// Prompt waits until Pi is idle, and returns the model's last message. If the turn fails, Prompt returns an error.
func (p *Pi) Prompt(ctx context.Context, prompt Prompt) (Message, error) {
	turn, err := p.PromptAsync(ctx, prompt)
	if err != nil {
		return Message{}, err
	}
	return turn.Wait(ctx)
}

type Turn struct {
	p  *Pi
	at int // the position of the turn's first record
}

// PromptAsync returns when Pi has accepted the prompt.
func (p *Pi) PromptAsync(ctx context.Context, prompt Prompt) (Turn, error) {
	at := p.records.len()
	if err := p.Call(ctx, "prompt", prompt.body(), nil); err != nil {
		return Turn{}, err
	}
	return Turn{p, at}, nil
}

func (t Turn) Wait(ctx context.Context) (Message, error) {
	if err := t.p.idle(ctx, t.at); err != nil {
		return Message{}, fmt.Errorf("wait for pi's answer: %w", err)
	}
	var last Message
	for _, r := range t.p.records.since(t.at) {
		if r.Type == "message_end" && r.Message.Role == "assistant" {
			last = r.Message
		}
	}
	return last, last.Err()
}

// The method `idle` waits until a run has ended and no other run follows it. It looks only at the records from position
// `at` on.
func (p *Pi) idle(ctx context.Context, at int) error {
	if p.version != V074 {
		_, _, err := p.records.await(ctx, at, isOfType("agent_settled"))
		return err
	}
	// Pi 0.74 does not report when it becomes idle. After a run has ended, Pi may still compact the session or retry
	// the run.
	for {
		_, next, err := p.records.await(ctx, at, isOfType("agent_end"))
		if err != nil {
			return err
		}
		at = next
		for {
			// Pi announces a retry a moment after the end of the run. If there is no retry, Pi announces nothing. So
			// wait a little before asking for the state.
			time.Sleep(20 * time.Millisecond)
			state, err := p.State(ctx)
			if err != nil {
				return err
			}
			if !state.IsStreaming && !state.IsCompacting {
				break
			}
		}
		goesOn := func(r Record) bool {
			return isOfType("agent_start", "auto_retry_start", "agent_end")(r) || r.Type == "compaction_end" && r.WillRetry
		}
		if !slices.ContainsFunc(p.records.since(at), goesOn) {
			return nil
		}
	}
}

func isOfType(types ...string) func(Record) bool {
	return func(r Record) bool { return slices.Contains(types, r.Type) }
}

// Await returns the first record for which isWanted returns true. If there is none yet, it waits for one.
func (p *Pi) Await(ctx context.Context, isWanted func(Record) bool) (Record, error) {
	r, _, err := p.records.await(ctx, 0, isWanted)
	return r, err
}

func (p *Pi) Records() []Record { return p.records.since(0) }

// A UIRequest is a request of an extension to Pi's user interface.
type UIRequest struct {
	Method      string   `json:"method"`
	Message     string   `json:"message"`
	NotifyType  string   `json:"notifyType"`
	StatusKey   string   `json:"statusKey"`
	StatusText  string   `json:"statusText"`
	WidgetKey   string   `json:"widgetKey"`
	WidgetLines []string `json:"widgetLines"`
}

func (p *Pi) UIRequests(methods ...string) (all []UIRequest) {
	for _, r := range p.Records() {
		var request UIRequest
		if r.Type != "extension_ui_request" || json.Unmarshal(r.Raw, &request) != nil || !slices.Contains(methods, request.Method) {
			continue
		}
		all = append(all, request)
	}
	return all
}

func (p *Pi) ExtensionErrors() (all []string) {
	for _, r := range p.Records() {
		if r.Type == "extension_error" {
			all = append(all, string(r.Raw))
		}
	}
	return all
}

func (p *Pi) Command(ctx context.Context, command string) error {
	return p.Call(ctx, "prompt", object{"message": command}, nil)
}

func (p *Pi) Reload(ctx context.Context) error { return p.Command(ctx, "/pitest-reload") }

// Navigate moves to an entry in the session's tree. If the entry is a prompt, Pi moves to the entry before it.
func (p *Pi) Navigate(ctx context.Context, entry string) error {
	return p.Command(ctx, "/pitest-tree "+entry)
}

// Abort stops the running turn and waits until Pi is idle.
func (p *Pi) Abort(ctx context.Context) error { return p.Call(ctx, "abort", nil, nil) }

// The model is named "provider/model".
func (p *Pi) SetModel(ctx context.Context, model string) error {
	provider, id, _ := strings.Cut(model, "/")
	return p.Call(ctx, "set_model", object{"provider": provider, "modelId": id}, nil)
}

func (p *Pi) Compact(ctx context.Context) error { return p.Call(ctx, "compact", nil, nil) }

func (p *Pi) State(ctx context.Context) (s State, err error) {
	return s, p.Call(ctx, "get_state", nil, &s)
}

func (p *Pi) NewSession(ctx context.Context) (id string, err error) {
	return p.replace(ctx, "new_session", nil)
}

func (p *Pi) SwitchSession(ctx context.Context, file string) error {
	_, err := p.replace(ctx, "switch_session", object{"sessionPath": file})
	return err
}

// Fork creates a session with the messages before the given prompt, and returns the session's id.
func (p *Pi) Fork(ctx context.Context, entry string) (id string, err error) {
	return p.replace(ctx, "fork", object{"entryId": entry})
}

func (p *Pi) Clone(ctx context.Context) (id string, err error) { return p.replace(ctx, "clone", nil) }

// The method `replace` runs a command that replaces the session. It returns an error if an extension refuses that.
func (p *Pi) replace(ctx context.Context, command string, body object) (id string, err error) {
	var done struct {
		Cancelled bool `json:"cancelled"`
	}
	if err := p.Call(ctx, command, body, &done); err != nil {
		return "", err
	}
	if done.Cancelled {
		return "", fmt.Errorf("pi: %s was cancelled", command)
	}
	state, err := p.State(ctx)
	return state.SessionID, err
}

// Messages returns the messages that Pi has in memory, oldest first.
func (p *Pi) Messages(ctx context.Context) ([]Message, error) {
	var all struct {
		Messages []Message `json:"messages"`
	}
	return all.Messages, p.Call(ctx, "get_messages", nil, &all)
}

// Entries returns the entries of the session file without its header. Pi creates the file only with the first answer.
func (p *Pi) Entries(ctx context.Context) ([]Entry, error) {
	state, err := p.State(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(state.SessionFile)
	if err != nil {
		return nil, fmt.Errorf("read pi's session: %w", err)
	}
	var entries []Entry
	for line := range bytes.Lines(raw) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read pi's session: %w", err)
		}
		if e.Type != "session" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func (p *Pi) PromptEntry(ctx context.Context, text string) (string, error) {
	entries, err := p.Entries(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(entries) {
		if e.Message.Role == "user" && strings.HasPrefix(e.Message.Text(), text) {
			return e.ID, nil
		}
	}
	return "", fmt.Errorf("no message of the session begins with %q", text)
}

// Most commands take milliseconds, but a compaction asks the model.
const callTimeout = time.Minute

var lastID atomic.Int64

// Call sends a command to Pi, and waits for the response. If `out` is not nil, Call stores the data of the response in
// it.
func (p *Pi) Call(ctx context.Context, command string, body object, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	id := fmt.Sprintf("call-%d", lastID.Add(1))
	request := object{"id": id, "type": command}
	maps.Copy(request, body)
	line, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("pi %s: %w", command, err)
	}
	at := p.records.len()
	if _, err := p.stdin.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("pi %s: %w", command, err)
	}
	response, _, err := p.records.await(ctx, at, func(r Record) bool { return r.Type == "response" && r.ID == id })
	if err != nil {
		return fmt.Errorf("pi %s: %w", command, err)
	}
	if !response.Success {
		return fmt.Errorf("pi %s: %w", command, errors.New(response.Error))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(response.Data, out); err != nil {
		return fmt.Errorf("pi %s: decode %.200q: %w", command, response.Data, err)
	}
	return nil
}
