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

	"github.com/magicctx/magicctx-host/e2e/agent"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/opencodetest"
)

// A director plays scenes, in one session at a time. After an error, its methods do nothing.
type director struct {
	*recording
	ctx     context.Context // valid for the whole play, like the director
	session string
	model   string // the model of the next prompt; empty means the default model
	calls   int
	reduced map[string]bool
	err     error
}

func (d *director) fail(err error) { d.err = errors.Join(d.err, err) }

func (d *director) turn(text string, steps ...mockllm.Step) {
	if d.err != nil {
		return
	}
	d.mock.Enqueue(steps...)
	if err := d.agent.Send(d.ctx, d.session, opencodetest.Prompt{Text: text, Model: d.model}); err != nil {
		d.fail(fmt.Errorf("%q: %w", text, err))
	}
}

func (d *director) failingTurn(text string, steps ...mockllm.Step) {
	if d.err != nil {
		return
	}
	d.mock.Enqueue(steps...)
	err := d.agent.Send(d.ctx, d.session, opencodetest.Prompt{Text: text, Model: d.model})
	switch {
	case err == nil:
		d.fail(fmt.Errorf("%q was answered, want an error of the provider", text))
	case d.ctx.Err() != nil:
		d.fail(fmt.Errorf("%q, which the provider should refuse: %w", text, err))
	}
}

// interrupt aborts a turn as soon as the request for its last step has arrived.
func (d *director) interrupt(text string, steps ...mockllm.Step) {
	all := len(d.mock.Requests()) + len(steps)
	d.abortWhen(func() error {
		if n := len(d.mock.Requests()); n < all {
			return fmt.Errorf("%d of %d requests", n, all)
		}
		return nil
	}, text, steps...)
}

const abortTimeout = time.Minute

func (d *director) abortWhen(ready func() error, text string, steps ...mockllm.Step) {
	if d.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(d.ctx, abortTimeout)
	defer cancel()
	d.mock.Enqueue(steps...)
	idle, err := d.agent.SendAsync(ctx, d.session, opencodetest.Prompt{Text: text, Model: d.model})
	if err != nil {
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
	d.fail(d.agent.Abort(ctx, d.session))
	select {
	case <-idle:
	case <-ctx.Done():
		d.fail(fmt.Errorf("%q does not end", text))
	}
}

func (d *director) fileExists(path string) error {
	_, err := os.Stat(path)
	return err
}

func (d *director) post(route string, body any) {
	if d.err == nil {
		d.fail(d.agent.(*agent.OpenCode).Call(d.ctx, http.MethodPost, "/session/"+d.session+"/"+route, body, nil))
	}
}

// goBackTo goes back to the point before the newest prompt with this text.
func (d *director) goBackTo(prompt string) {
	if d.err == nil {
		d.fail(d.agent.GoBack(d.ctx, d.session, prompt))
	}
}

// forkAt copies the messages before a prompt, or all messages if prompt is "". The scenes continue in the copy.
func (d *director) forkAt(prompt string) {
	if d.err != nil {
		return
	}
	var err error
	if prompt == "" {
		d.session, err = d.agent.Copy(d.ctx, d.session)
	} else {
		d.session, err = d.agent.CopyUntil(d.ctx, d.session, prompt)
	}
	d.fail(err)
}

// finish stores the number of messages. If a drop was refused, it returns an error, because the script has a mistake,
// and the trace would contain less than intended.
func (d *director) finish() error {
	n, err := d.countMessages(d.ctx, d.session)
	d.messages = n
	for _, r := range d.mock.Requests() {
		for _, m := range r.Messages {
			for _, c := range m.Content {
				if c.Type == "tool_result" && d.reduced[c.ID] {
					delete(d.reduced, c.ID) // check each result only once: a later request may contain a placeholder instead
					if _, output, _ := strings.Cut(c.Text, "§ "); !strings.HasPrefix(output, "Marked") {
						err = errors.Join(err, fmt.Errorf("call %s of ctx_reduce: %s", c.ID, c.Text))
					}
				}
			}
		}
	}
	return err
}

func (d *director) call(tool string, input map[string]any) mockllm.Step {
	d.calls++
	return mockllm.Call(d.callID(), tool, input)
}

func (d *director) callID() string { return fmt.Sprintf("toolu_edge%04d", d.calls) }

func (d *director) reduce(tags string) mockllm.Step {
	step := d.call("ctx_reduce", map[string]any{"drop": tags})
	d.reduced[d.callID()] = true
	return step
}

func (d *director) reads(n int) (steps []mockllm.Step) {
	names := slices.Sorted(maps.Keys(d.files))
	for range n {
		s := d.call(d.tools().Read(filepath.Join(d.project(), names[d.calls%len(names)]), 0, 24))
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
