package e2e

import (
	"cmp"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/opencodetest"
	"github.com/magicctx/magicctx-host/e2e/pitest"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// An agent is a running harness, with the actions that the tests of both harnesses share. Prompts are
// opencodetest's, because they have all fields that the tests need.
type agent interface {
	// pid is the process that the host knows as its client.
	pid() int
	// printed returns what the process has printed for a person.
	printed() string
	// end ends the process as its user does.
	end() error
	newSession(ctx context.Context) (id string, err error)
	// send sends a prompt and waits for the whole turn. If the turn fails, it returns an error.
	send(ctx context.Context, session string, p opencodetest.Prompt) error
	// sendAsync sends a prompt. The channel is closed when the session is idle.
	sendAsync(ctx context.Context, session string, p opencodetest.Prompt) (idle <-chan struct{}, err error)
	// interject sends a prompt while the model works.
	interject(ctx context.Context, session string, p opencodetest.Prompt) error
	abort(ctx context.Context, session string) error
	// command runs a command of the host.
	command(ctx context.Context, session, name string) error
	// goBack takes the session to the point before the newest prompt that begins with text.
	goBack(ctx context.Context, session, text string) error
	// copySession returns a new session with all messages of this one.
	copySession(ctx context.Context, session string) (id string, err error)
	// failedCalls describes the tool calls of a session that failed.
	failedCalls(ctx context.Context, session string) ([]string, error)
}

// openCode is an agent. It also has all methods of opencodetest.OpenCode, for the tests of OpenCode
// alone.
type openCode struct{ *opencodetest.OpenCode }

func (o *openCode) pid() int        { return o.PID }
func (o *openCode) printed() string { return o.Output() }

func (o *openCode) end() error {
	o.Close()
	return o.Stop()
}

// newSession gives the session a title, so that OpenCode does not ask for one.
func (o *openCode) newSession(ctx context.Context) (string, error) {
	s, err := o.CreateSession(ctx, opencodetest.NewSession{Title: "e2e"})
	return s.ID, err
}

func (o *openCode) send(ctx context.Context, session string, p opencodetest.Prompt) error {
	_, err := o.Prompt(ctx, session, p)
	return err
}

func (o *openCode) sendAsync(ctx context.Context, session string, p opencodetest.Prompt) (<-chan struct{}, error) {
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

func (o *openCode) interject(ctx context.Context, session string, p opencodetest.Prompt) error {
	return o.PromptAsync(ctx, session, p)
}

func (o *openCode) abort(ctx context.Context, session string) error { return o.Abort(ctx, session) }

func (o *openCode) command(ctx context.Context, session, name string) error {
	body := map[string]string{"command": name, "arguments": ""}
	return o.Call(ctx, http.MethodPost, "/session/"+session+"/command", body, nil)
}

func (o *openCode) goBack(ctx context.Context, session, text string) error {
	messages, err := o.Messages(ctx, session)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(messages) {
		if m.Info.Role == "user" && strings.HasPrefix(m.Text(), text) {
			return o.Revert(ctx, session, m.Info.ID)
		}
	}
	return fmt.Errorf("no message of session %s begins with %q", session, text)
}

func (o *openCode) copySession(ctx context.Context, session string) (string, error) {
	s, err := o.Fork(ctx, session, "")
	return s.ID, err
}

func (o *openCode) failedCalls(ctx context.Context, session string) (failed []string, err error) {
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

// piVersion chooses the Pi of all tests that start one.
var piVersion = flag.String("pi", string(pitest.V087), "version of Pi for the tests: 0.87 or 0.74")

// pi is an agent. A Pi has one session at a time, so pi switches to the session of each action. It also
// has all methods of pitest.Pi, for the tests of Pi alone.
type pi struct {
	*pitest.Pi
	files   map[string]string // of the sessions that were left, by id
	current string
	used    bool   // true if the first session of the process is taken
	model   string // of the newest prompt
}

func startPi(ctx context.Context, o pitest.Options) (*pi, error) {
	o.Version = pitest.Version(*piVersion)
	p, err := pitest.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	state, err := p.State(ctx)
	return &pi{Pi: p, files: map[string]string{}, current: state.SessionID, model: cmp.Or(o.Model, opencodetest.ClaudeModel)}, err
}

func (p *pi) pid() int        { return p.PID }
func (p *pi) printed() string { return p.Output() }
func (p *pi) end() error      { return p.Stop() }

func (p *pi) newSession(ctx context.Context) (id string, err error) {
	if !p.used {
		p.used = true
		return p.current, nil
	}
	return p.replace(ctx, p.NewSession)
}

// replace leaves the current session for another one.
func (p *pi) replace(ctx context.Context, begin func(context.Context) (string, error)) (id string, err error) {
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

// enter makes a session the current one.
func (p *pi) enter(ctx context.Context, session string) error {
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

func (p *pi) send(ctx context.Context, session string, prompt opencodetest.Prompt) error {
	turn, err := p.begin(ctx, session, prompt)
	if err != nil {
		return err
	}
	_, err = turn.Wait(ctx)
	return err
}

func (p *pi) sendAsync(ctx context.Context, session string, prompt opencodetest.Prompt) (<-chan struct{}, error) {
	turn, err := p.begin(ctx, session, prompt)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = turn.Wait(ctx) // an aborted turn is idle, too
	}()
	return done, nil
}

func (p *pi) begin(ctx context.Context, session string, prompt opencodetest.Prompt) (turn pitest.Turn, err error) {
	if err := p.enter(ctx, session); err != nil {
		return turn, err
	}
	// As with OpenCode, a prompt that names no model goes to the session's own one.
	if prompt.Model != "" && prompt.Model != p.model {
		if err := p.SetModel(ctx, prompt.Model); err != nil {
			return turn, err
		}
		p.model = prompt.Model
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

func (p *pi) interject(ctx context.Context, _ string, prompt opencodetest.Prompt) error {
	_, err := p.PromptAsync(ctx, pitest.Prompt{Text: prompt.Text, Behaviour: "steer"})
	return err
}

func (p *pi) abort(ctx context.Context, _ string) error { return p.Abort(ctx) }

func (p *pi) command(ctx context.Context, session, name string) error {
	if err := p.enter(ctx, session); err != nil {
		return err
	}
	return p.Command(ctx, "/"+name)
}

func (p *pi) goBack(ctx context.Context, session, text string) error {
	if err := p.enter(ctx, session); err != nil {
		return err
	}
	entry, err := p.PromptEntry(ctx, text)
	if err != nil {
		return err
	}
	return p.Navigate(ctx, entry)
}

func (p *pi) copySession(ctx context.Context, session string) (id string, err error) {
	if err := p.enter(ctx, session); err != nil {
		return "", err
	}
	return p.replace(ctx, p.Clone)
}

func (p *pi) failedCalls(ctx context.Context, session string) (failed []string, err error) {
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

// needs skips a test whose harness cannot run on this machine.
func needs(t *testing.T, h schema.Harness) {
	t.Helper()
	if h == schema.HarnessPi {
		suite.NeedsPi(t, product.Repo)
		return
	}
	suite.Needs(t)
}
