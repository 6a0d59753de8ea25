package agent

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/json"
)

// OpenCode is an Agent, and has all methods of opencodetest.OpenCode.
type OpenCode struct {
	*opencodetest.OpenCode
	// Title is the title of new sessions. If it is empty, their title is "e2e".
	Title string
}

func (o *OpenCode) Process() int    { return o.PID }
func (o *OpenCode) Printed() string { return o.Output() }

func (o *OpenCode) End() error {
	o.Close()
	return o.Stop()
}

// Begin creates a session with a title, because OpenCode would otherwise ask the model for one.
func (o *OpenCode) Begin(ctx context.Context) (string, error) {
	s, err := o.CreateSession(ctx, opencodetest.NewSession{Title: cmp.Or(o.Title, "e2e")})
	return s.ID, err
}

func (o *OpenCode) Send(ctx context.Context, session string, p opencodetest.Prompt) error {
	_, err := o.Prompt(ctx, session, p)
	return err
}

func (o *OpenCode) SendAsync(ctx context.Context, session string, p opencodetest.Prompt) (<-chan struct{}, error) {
	events, err := o.Events(ctx)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			var of struct {
				SessionID string `json:"sessionID"`
			}
			if e.Type == "session.idle" && json.Unmarshal(e.Properties, &of) == nil && of.SessionID == session {
				return
			}
		}
	}()
	return done, o.PromptAsync(ctx, session, p)
}

func (o *OpenCode) Interject(ctx context.Context, session string, p opencodetest.Prompt) error {
	return o.PromptAsync(ctx, session, p)
}

func (o *OpenCode) Command(ctx context.Context, session, line string) error {
	name, arguments, _ := strings.Cut(line, " ")
	body := map[string]string{"command": name, "arguments": arguments}
	return o.Call(ctx, http.MethodPost, "/session/"+session+"/command", body, nil)
}

func (o *OpenCode) GoBack(ctx context.Context, session, text string) error {
	id, err := o.promptID(ctx, session, text)
	if err != nil {
		return err
	}
	return o.Revert(ctx, session, id)
}

func (o *OpenCode) promptID(ctx context.Context, session, text string) (string, error) {
	messages, err := o.Messages(ctx, session)
	if err != nil {
		return "", err
	}
	for _, m := range slices.Backward(messages) {
		if m.Info.Role == "user" && strings.HasPrefix(m.Text(), text) {
			return m.Info.ID, nil
		}
	}
	return "", fmt.Errorf("no message of session %s begins with %q", session, text)
}

func (o *OpenCode) CopyUntil(ctx context.Context, session, text string) (string, error) {
	id, err := o.promptID(ctx, session, text)
	if err != nil {
		return "", err
	}
	s, err := o.Fork(ctx, session, id)
	return s.ID, err
}

func (o *OpenCode) Copy(ctx context.Context, session string) (string, error) {
	s, err := o.Fork(ctx, session, "")
	return s.ID, err
}

func (o *OpenCode) FailedCalls(ctx context.Context, session string) (failed []string, err error) {
	messages, err := o.Messages(ctx, session)
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == "tool" && (p.State.Status != "completed" || p.Tool == "invalid") {
				failed = append(failed, fmt.Sprintf("call %s of %s: %s %s%s", p.CallID, p.Tool, p.State.Status, p.State.Error, p.State.Output))
			}
		}
	}
	return failed, err
}
