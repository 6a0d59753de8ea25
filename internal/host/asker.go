package host

import (
	"context"
	"errors"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/schema"
)

// A sessionAsker asks hidden agents on behalf of a session.
type sessionAsker struct {
	host               *Host
	harness            schema.Harness
	client             client.Client
	directory, session string
	// title tells the user what the agent does, for example "history 120-180".
	title string
}

var _ ask.Asker = sessionAsker{}

// Ask implements ask.Asker.
func (a sessionAsker) Ask(ctx context.Context, r ask.Request) (ask.Answer, error) {
	got, err := a.host.RunAgent(ctx, AgentRun{
		Harness: a.harness, Client: a.client, Directory: a.directory, Session: a.session, Title: a.title,
		Agent: r.Agent, Model: r.Model, System: r.System, Prompt: r.Prompt, Timeout: r.Timeout,
	})
	if err != nil {
		return ask.Answer{}, askError(err)
	}
	return ask.Answer{Text: got.Text, Model: got.Model, Usage: ask.Usage(got.Usage)}, nil
}

var askKinds = map[AgentErrorKind]ask.Kind{
	AgentAborted: ask.Aborted, AgentTimeout: ask.TimedOut, AgentOverflow: ask.Overflow, AgentUnknownModel: ask.UnknownModel,
}

// askError converts a failure to the error kinds of package ask. Package ask classifies any other failure by
// the words of its message.
func askError(err error) error {
	var failed *AgentError
	if !errors.As(err, &failed) {
		return err
	}
	kind, ok := askKinds[failed.Kind]
	if !ok {
		return err
	}
	return &ask.Error{Kind: kind, Suggestion: failed.Suggestion, Err: err}
}
