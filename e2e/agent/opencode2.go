package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencode2"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/json"
)

// OpenCode2 is an Agent, and has all methods of opencode2.Server.
type OpenCode2 struct {
	*opencode2.Server
	models map[string]string // the model of each session's newest prompt
}

func StartOpenCode2(ctx context.Context, o opencode2.Options) (*OpenCode2, error) {
	s, err := opencode2.Start(ctx, o)
	return &OpenCode2{s, map[string]string{}}, err
}

func (o *OpenCode2) Process() int    { return o.PID }
func (o *OpenCode2) Printed() string { return o.Output() }
func (o *OpenCode2) End() error      { return o.Stop() }

func (o *OpenCode2) Begin(ctx context.Context) (string, error) {
	s, err := o.Create(ctx, opencodetest.ClaudeModel)
	if err != nil {
		return "", err
	}
	o.models[s.ID] = opencodetest.ClaudeModel
	return s.ID, nil
}

func (o *OpenCode2) Send(ctx context.Context, session string, p opencodetest.Prompt) error {
	if err := o.send(ctx, session, p, ""); err != nil {
		return err
	}
	s := o.Open(session)
	if err := s.Wait(ctx); err != nil {
		return err
	}
	newest, err := s.Newest(ctx)
	return cmp.Or(err, newest.Err())
}

func (o *OpenCode2) send(ctx context.Context, session string, p opencodetest.Prompt, delivery string) error {
	s := o.Open(session)
	if p.Model != "" && p.Model != o.models[session] {
		if err := s.Switch(ctx, p.Model); err != nil {
			return err
		}
		o.models[session] = p.Model
	}
	more := map[string]any{}
	if delivery != "" {
		more["delivery"] = delivery
	}
	if len(p.Files) > 0 {
		var files []any
		for _, f := range p.Files {
			files = append(files, map[string]any{"uri": f.URL, "name": f.Name, "mime": f.Mime})
		}
		more["files"] = files
	}
	return s.Send(ctx, p.Text, more)
}

func (o *OpenCode2) SendAsync(ctx context.Context, session string, p opencodetest.Prompt) (<-chan struct{}, error) {
	if err := o.send(ctx, session, p, ""); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = o.Open(session).Wait(ctx) // an error is no problem: after an abort, the session is idle, too
	}()
	return done, nil
}

func (o *OpenCode2) Interject(ctx context.Context, session string, p opencodetest.Prompt) error {
	return o.send(ctx, session, p, "steer")
}

func (o *OpenCode2) Abort(ctx context.Context, session string) error {
	return o.Open(session).Interrupt(ctx)
}

func (o *OpenCode2) Command(_ context.Context, _, line string) error {
	return fmt.Errorf("the server of OpenCode 2 cannot run /%s", line)
}

func (o *OpenCode2) GoBack(ctx context.Context, session, text string) error {
	id, err := o.promptID(ctx, session, text)
	if err != nil {
		return err
	}
	return o.Open(session).Revert(ctx, id)
}

func (o *OpenCode2) promptID(ctx context.Context, session, text string) (string, error) {
	messages, err := o.Open(session).Messages(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range slices.Backward(messages) {
		if m.Type == "user" && strings.HasPrefix(m.Text, text) {
			return m.ID, nil
		}
	}
	return "", fmt.Errorf("no message of session %s begins with %q", session, text)
}

func (o *OpenCode2) Copy(ctx context.Context, session string) (string, error) {
	return o.copyBefore(ctx, session, "")
}

func (o *OpenCode2) CopyUntil(ctx context.Context, session, text string) (string, error) {
	id, err := o.promptID(ctx, session, text)
	if err != nil {
		return "", err
	}
	return o.copyBefore(ctx, session, id)
}

func (o *OpenCode2) copyBefore(ctx context.Context, session, message string) (string, error) {
	s, err := o.Open(session).Fork(ctx, message)
	if err != nil {
		return "", err
	}
	o.models[s.ID] = o.models[session]
	return s.ID, nil
}

func (o *OpenCode2) FailedCalls(ctx context.Context, session string) (failed []string, err error) {
	messages, err := o.Open(session).Messages(ctx)
	for _, m := range messages {
		for _, p := range m.Content {
			var state struct {
				Status string `json:"status"`
			}
			if p.Type != "tool" || json.Unmarshal(p.State, &state) == nil && state.Status == "completed" {
				continue
			}
			failed = append(failed, fmt.Sprintf("call of %s: %s", p.Name, p.State))
		}
	}
	return failed, err
}
