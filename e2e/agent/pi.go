package agent

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
)

// A Pi process has one open session at a time, so each action first switches to its session.
type Pi struct {
	*pitest.Pi
	files   map[string]string // the files of the sessions that were left, by session id
	current string
	file    string // the file of the current session, known after its first prompt
	used    bool   // true if the process has used its first session
	models  map[string]string
	initial string
}

func StartPi(ctx context.Context, o pitest.Options) (*Pi, error) {
	p, err := pitest.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	state, err := p.State(ctx)
	return &Pi{
		Pi: p, files: map[string]string{}, current: state.SessionID, models: map[string]string{}, initial: cmp.Or(o.Model, opencodetest.ClaudeModel),
	}, err
}

// Resume starts a new Pi process after p has ended. The new process continues the current session of p.
func (p *Pi) Resume(ctx context.Context, o pitest.Options) (*Pi, error) {
	o.Args = append(slices.Clone(o.Args), "--session", p.file)
	next, err := StartPi(ctx, o)
	if err != nil {
		return nil, err
	}
	if next.current != p.current {
		return next, fmt.Errorf("Pi has resumed session %s, want %s", next.current, p.current)
	}
	next.used, next.files, next.models, next.initial = true, p.files, p.models, p.initial
	return next, nil
}

func (p *Pi) Process() int    { return p.PID }
func (p *Pi) Printed() string { return p.Output() }
func (p *Pi) End() error      { return p.Stop() }

func (p *Pi) Begin(ctx context.Context) (id string, err error) {
	if !p.used {
		p.used = true
		return p.current, nil
	}
	return p.replace(ctx, p.NewSession)
}

func (p *Pi) replace(ctx context.Context, begin func(context.Context) (string, error)) (id string, err error) {
	state, err := p.State(ctx)
	if err != nil {
		return "", err
	}
	p.files[p.current] = state.SessionFile
	if id, err = begin(ctx); err != nil {
		return "", err
	}
	p.current = id
	return id, nil
}

func (p *Pi) enter(ctx context.Context, session string) error {
	if session == p.current {
		return nil
	}
	file, ok := p.files[session]
	if !ok {
		return fmt.Errorf("Pi has no session %s", session)
	}
	_, err := p.replace(ctx, func(ctx context.Context) (string, error) { return session, p.SwitchSession(ctx, file) })
	return err
}

func (p *Pi) Send(ctx context.Context, session string, prompt opencodetest.Prompt) error {
	turn, err := p.begin(ctx, session, prompt)
	if err != nil {
		return err
	}
	_, err = turn.Wait(ctx)
	return err
}

func (p *Pi) SendAsync(ctx context.Context, session string, prompt opencodetest.Prompt) (<-chan struct{}, error) {
	turn, err := p.begin(ctx, session, prompt)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = turn.Wait(ctx) // an error is no problem: after an abort, the session is idle, too
	}()
	return done, nil
}

func (p *Pi) begin(ctx context.Context, session string, prompt opencodetest.Prompt) (turn pitest.Turn, err error) {
	if err := p.enter(ctx, session); err != nil {
		return turn, err
	}
	// As in OpenCode, a prompt without a model uses the model of the session's newest prompt.
	model := cmp.Or(prompt.Model, p.models[session], p.initial)
	p.models[session] = model
	state, err := p.State(ctx)
	if err != nil {
		return turn, err
	}
	p.file = state.SessionFile
	if model != state.Model.Provider+"/"+state.Model.ID {
		if err := p.SetModel(ctx, model); err != nil {
			return turn, err
		}
	}
	out := pitest.Prompt{Text: prompt.Text}
	for _, f := range prompt.Files {
		_, data, _ := strings.Cut(f.URL, ",")
		png, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return turn, err
		}
		out.PNGs = append(out.PNGs, png)
	}
	return p.PromptAsync(ctx, out)
}

func (p *Pi) Interject(ctx context.Context, _ string, prompt opencodetest.Prompt) error {
	_, err := p.PromptAsync(ctx, pitest.Prompt{Text: prompt.Text, Behaviour: "steer"})
	return err
}

func (p *Pi) Abort(ctx context.Context, _ string) error { return p.Pi.Abort(ctx) }

func (p *Pi) Command(ctx context.Context, session, line string) error {
	if err := p.enter(ctx, session); err != nil {
		return err
	}
	return p.Pi.Command(ctx, "/"+line)
}

func (p *Pi) GoBack(ctx context.Context, session, text string) error {
	if err := p.enter(ctx, session); err != nil {
		return err
	}
	entry, err := p.PromptEntry(ctx, text)
	if err != nil {
		return err
	}
	return p.Navigate(ctx, entry)
}

func (p *Pi) Leaf(ctx context.Context, session string) (entry string, err error) {
	if err := p.enter(ctx, session); err != nil {
		return "", err
	}
	entries, err := p.Entries(ctx)
	if err != nil {
		return "", err
	}
	return entries[len(entries)-1].ID, nil
}

// GoTo moves the session to an entry, on any branch.
func (p *Pi) GoTo(ctx context.Context, session, entry string) error {
	if err := p.enter(ctx, session); err != nil {
		return err
	}
	return p.Navigate(ctx, entry)
}

func (p *Pi) Copy(ctx context.Context, session string) (id string, err error) {
	if err := p.enter(ctx, session); err != nil {
		return "", err
	}
	id, err = p.replace(ctx, p.Clone)
	p.models[id] = p.models[session]
	return id, err
}

func (p *Pi) CopyUntil(ctx context.Context, session, text string) (id string, err error) {
	if err := p.enter(ctx, session); err != nil {
		return "", err
	}
	entry, err := p.PromptEntry(ctx, text)
	if err != nil {
		return "", err
	}
	return p.replace(ctx, func(ctx context.Context) (string, error) { return p.Fork(ctx, entry) })
}

func (p *Pi) FailedCalls(ctx context.Context, session string) (failed []string, err error) {
	if err := p.enter(ctx, session); err != nil {
		return nil, err
	}
	messages, err := p.Messages(ctx)
	for _, m := range messages {
		if m.Role == "toolResult" && m.IsError {
			failed = append(failed, fmt.Sprintf("call %s of %s: %s", m.ToolCallID, m.ToolName, m.Text()))
		}
	}
	return failed, err
}
