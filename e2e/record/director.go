package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/internal/json"
)

// A director plays scenes, in one session at a time. After an error it does nothing more.
type director struct {
	*recording
	ctx     context.Context // lasts for the whole play, as the director does
	session string
	model   string // of the next prompt; empty means the default model
	calls   int
	err     error
}

func (d *director) fail(err error) { d.err = errors.Join(d.err, err) }

// turn sends a prompt and expects the turn to succeed.
func (d *director) turn(text string, steps ...mockllm.Step) {
	if d.err != nil {
		return
	}
	d.mock.Enqueue(steps...)
	if _, err := d.oc.Prompt(d.ctx, d.session, opencodetest.Prompt{Text: text, Model: d.model}); err != nil {
		d.fail(fmt.Errorf("%q: %w", text, err))
	}
}

// failingTurn sends a prompt and expects the turn to end in an error.
func (d *director) failingTurn(text string, steps ...mockllm.Step) {
	if d.err != nil {
		return
	}
	d.mock.Enqueue(steps...)
	m, err := d.oc.Prompt(d.ctx, d.session, opencodetest.Prompt{Text: text, Model: d.model})
	switch {
	case m.Info.Error != nil:
	case err != nil:
		d.fail(fmt.Errorf("%q, which the provider should refuse: %w", text, err))
	default:
		d.fail(fmt.Errorf("%q was answered, want an error of the provider", text))
	}
}

// interrupt aborts a turn when OpenCode has asked for its last step.
func (d *director) interrupt(text string, steps ...mockllm.Step) {
	all := len(d.mock.Requests()) + len(steps)
	d.abortWhen(func() error {
		if n := len(d.mock.Requests()); n < all {
			return fmt.Errorf("%d of %d requests", n, all)
		}
		return nil
	}, text, steps...)
}

// abortTimeout bounds the wait for the moment at which a turn is aborted.
const abortTimeout = time.Minute

// abortWhen aborts a turn as soon as ready returns no error.
func (d *director) abortWhen(ready func() error, text string, steps ...mockllm.Step) {
	if d.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(d.ctx, abortTimeout)
	defer cancel()
	idle, err := d.idle(ctx)
	if err != nil {
		d.fail(err)
		return
	}
	d.mock.Enqueue(steps...)
	if err := d.oc.PromptAsync(ctx, d.session, opencodetest.Prompt{Text: text, Model: d.model}); err != nil {
		d.fail(err)
		return
	}
	for err := ready(); err != nil; err = ready() {
		select {
		case <-time.After(10 * time.Millisecond): // neither side can signal this moment, so ready is polled
		case <-ctx.Done():
			d.fail(fmt.Errorf("%q is not where it is to be aborted: %w", text, err))
			return
		}
	}
	d.fail(d.oc.Abort(ctx, d.session))
	select {
	case <-idle:
	case <-ctx.Done():
		d.fail(fmt.Errorf("%q does not end", text))
	}
}

// idle returns a channel that is closed when the session has become idle.
func (d *director) idle(ctx context.Context) (<-chan struct{}, error) {
	events, err := d.oc.Events(ctx)
	if err != nil {
		return nil, err
	}
	session, done := d.session, make(chan struct{})
	go func() {
		for e := range events {
			var p struct {
				SessionID string `json:"sessionID"`
			}
			if e.Type == "session.idle" && json.Unmarshal(e.Properties, &p) == nil && p.SessionID == session {
				close(done)
				return
			}
		}
	}()
	return done, nil
}

func (d *director) fileExists(path string) error {
	_, err := os.Stat(path)
	return err
}

// post calls a route of the session.
func (d *director) post(route string, body any) {
	if d.err == nil {
		d.fail(d.oc.Call(d.ctx, http.MethodPost, "/session/"+d.session+"/"+route, body, nil))
	}
}

// goBackTo reverts the session to the point before the newest prompt with this text.
func (d *director) goBackTo(prompt string) {
	if id := d.find(prompt); d.err == nil {
		d.fail(d.oc.Revert(d.ctx, d.session, id))
	}
}

// forkAt forks the session at a prompt, or all of it, and goes on in the copy.
func (d *director) forkAt(prompt string) {
	id := ""
	if prompt != "" {
		id = d.find(prompt)
	}
	if d.err != nil {
		return
	}
	s, err := d.oc.Fork(d.ctx, d.session, id)
	d.fail(err)
	d.session = s.ID
}

// find returns the id of a prompt's message.
func (d *director) find(prompt string) (id string) {
	if d.err != nil {
		return ""
	}
	messages, err := d.oc.Messages(d.ctx, d.session)
	d.fail(err)
	for _, m := range slices.Backward(messages) {
		if m.Info.Role == "user" && m.Text() == prompt {
			return m.Info.ID
		}
	}
	d.fail(fmt.Errorf("no prompt %q in session %s", prompt, d.session))
	return ""
}

// finish stores the number of messages in the session. A refused drop is a mistake in the script and an
// error, because the trace would show less than it promises.
func (d *director) finish() error {
	messages, err := d.oc.Messages(d.ctx, d.session)
	d.messages = len(messages)
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Tool == "ctx_reduce" && !strings.HasPrefix(p.State.Output, "Marked") {
				err = errors.Join(err, fmt.Errorf("call %s of ctx_reduce: %s", p.CallID, p.State.Output))
			}
		}
	}
	return err
}

// call returns a step with one tool call, whose id is unique.
func (d *director) call(tool string, input map[string]any) mockllm.Step {
	d.calls++
	return mockllm.Call(fmt.Sprintf("toolu_edge%04d", d.calls), tool, input)
}

func (d *director) reduce(tags string) mockllm.Step {
	return d.call("ctx_reduce", map[string]any{"drop": tags})
}

// reads returns steps that read files of the project one after the other. Some have a signed thought,
// some a text for the user.
func (d *director) reads(n int) (steps []mockllm.Step) {
	names := slices.Sorted(maps.Keys(d.files))
	for range n {
		s := d.call("read", map[string]any{"filePath": filepath.Join(d.project(), names[d.calls%len(names)]), "limit": 24})
		if d.calls%4 == 1 {
			s.Blocks = slices.Insert(s.Blocks, 0, mockllm.Text(fmt.Sprintf("Call %d: looking further.", d.calls)))
		}
		if d.calls%3 == 1 {
			s.Blocks = slices.Insert(s.Blocks, 0, mockllm.Thinking(
				fmt.Sprintf("This is call %d. What does the file hold?", d.calls), fmt.Sprintf("c2lnbmF0dXJlLSVk%08d", d.calls)))
		}
		steps = append(steps, s)
	}
	return steps
}
