package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/overflow"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// An AgentAnswer is the last answer of a hidden agent.
type AgentAnswer struct {
	Text string
	// Model is the model that answered, as "provider/model".
	Model string
	// IsWhole says that the model ended the answer itself. Otherwise it reached the
	// longest answer, or the agent's last step.
	IsWhole bool
	// Usage is the sum of all answers of the run.
	Usage transcript.Usage
	// Requests counts the answers.
	Requests int
}

// AgentErrorKind says what the failure of a run means for the next attempt.
type AgentErrorKind string

// The kinds. After AgentAborted, AgentTimeout and AgentOverflow, no other model
// can help.
const (
	AgentAborted  AgentErrorKind = "aborted"
	AgentTimeout  AgentErrorKind = "timeout"
	AgentOverflow AgentErrorKind = "overflow"
	// AgentUnknownModel: the harness has no such model.
	AgentUnknownModel AgentErrorKind = "unknown-model"
	// AgentUnavailable: no connected shim could run the agent.
	AgentUnavailable AgentErrorKind = "unavailable"
	// AgentFailed is any other failure, for example of the provider.
	AgentFailed AgentErrorKind = "failed"
)

// An AgentError is the failure of a run.
type AgentError struct {
	Kind AgentErrorKind
	// Message is the harness's or the provider's, with the HTTP status if it is
	// known.
	Message string
	// Suggestion is the model that the harness names in place of an unknown one,
	// as "provider/model".
	Suggestion string
}

func (e *AgentError) Error() string { return fmt.Sprintf("agent %s: %s", e.Kind, e.Message) }

var errAgentTimeout = errors.New("the run has missed its deadline")

// agentEnded returns the error of a run whose context has ended.
func agentEnded(ctx context.Context) *AgentError {
	cause := context.Cause(ctx)
	if errors.Is(cause, errAgentTimeout) || errors.Is(cause, context.DeadlineExceeded) {
		return &AgentError{Kind: AgentTimeout, Message: cause.Error()}
	}
	return &AgentError{Kind: AgentAborted, Message: cause.Error()}
}

// agentAnswer reads the result of a run.
func agentAnswer(h schema.Harness, r schema.AgentRunResult) (AgentAnswer, error) {
	codec, err := codecOf(string(h))
	if err != nil {
		return AgentAnswer{}, err
	}
	var a AgentAnswer
	for _, raw := range r.Answers {
		m := codec.Decode(raw)
		a.Usage.Input += m.Usage.Input
		a.Usage.Output += m.Usage.Output
		a.Usage.CacheRead += m.Usage.CacheRead
		a.Usage.CacheWrite += m.Usage.CacheWrite
		a.Requests++
		a.Model = m.Model.Provider + "/" + m.Model.ID
		a.IsWhole = m.Finish == transcript.EndsTurn
		a.Text = textOfAnswer(m)
	}
	if r.Failure.Reason != "" {
		return a, agentError(r.Failure)
	}
	return a, nil
}

// textOfAnswer returns the texts of an answer, joined by line breaks.
func textOfAnswer(m transcript.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == transcript.Text && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// modelNotFound is the name of the error about an unknown model. All shims use it.
const modelNotFound = "ProviderModelNotFoundError"

// unknownModel reads the message of that error, for example "Model not found:
// p/opsu. Did you mean: opus, opus-4?". Some harnesses tell plugins the message alone.
// Its groups are the provider, the model, and the suggested models of the
// provider.
var unknownModel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Model not found: ([^/]+)/(.+?)\.(?: Did you mean: (.+)\?)?$`)
})

// A harnessError is an error in the form in which shims report it. The members behind StatusCode
// belong to modelNotFound.
type harnessError struct {
	Name string `json:"name"`
	Data struct {
		Message     string   `json:"message"`
		StatusCode  int      `json:"statusCode"`
		ProviderID  string   `json:"providerID"`
		ModelID     string   `json:"modelID"`
		Suggestions []string `json:"suggestions"`
	} `json:"data"`
}

// maxAgentMessage bounds the message of an error, which may hold a page of HTML.
const maxAgentMessage = 1_000

// agentError reads the failure of a run. A shim reports errors in the harness's
// own form, so anything may be in them.
func agentError(f schema.AgentFailure) *AgentError {
	var e harnessError
	message := ""
	if json.Unmarshal(f.Error, &message) != nil {
		_ = json.Unmarshal(f.Error, &e) // an error of another form has no name
		message = cmp.Or(e.Data.Message, e.Name, string(f.Error))
	}
	if e.Data.StatusCode != 0 {
		message = fmt.Sprintf("%d: %s", e.Data.StatusCode, message)
	}
	failed := &AgentError{Kind: AgentFailed, Message: strings.ToValidUTF8(message[:min(len(message), maxAgentMessage)], "")}
	if unknown := unknownModel().FindStringSubmatch(e.Data.Message); unknown != nil {
		e.Name, e.Data.ProviderID, e.Data.ModelID = modelNotFound, unknown[1], unknown[2]
		e.Data.Suggestions = strings.Split(unknown[3], ", ")
	}
	_, isOverflow := overflow.Detect(f.Error)
	switch {
	case f.Reason == "timeout":
		failed.Kind = AgentTimeout
	case f.Reason == "aborted", e.Name == "MessageAbortedError":
		failed.Kind = AgentAborted
	case e.Name == modelNotFound:
		failed.Kind = AgentUnknownModel
		failed.Message = fmt.Sprintf("there is no model %s/%s", e.Data.ProviderID, e.Data.ModelID)
		if len(e.Data.Suggestions) > 0 && e.Data.Suggestions[0] != "" {
			failed.Suggestion = e.Data.ProviderID + "/" + e.Data.Suggestions[0]
		}
	case isOverflow:
		failed.Kind = AgentOverflow
	}
	return failed
}
