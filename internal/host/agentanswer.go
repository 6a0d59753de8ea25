package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/client"
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
	// IsWhole is true if the model ended the answer itself. It is false if the answer reached the longest
	// length that the model may write, or if the agent reached its last step.
	IsWhole bool
	// Usage is the sum over all answers of the run.
	Usage transcript.Usage
	// Requests is the number of answers.
	Requests int
}

// AgentErrorKind classifies the failure of a run, so that the caller knows whether another attempt can help.
type AgentErrorKind string

// The kinds. After AgentAborted, AgentTimeout and AgentOverflow, asking another model cannot help.
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
	// Message is the error text of the harness or the provider, with the HTTP status if it is known.
	Message string
	// Suggestion is a model that the harness proposes instead of an unknown one, as "provider/model".
	Suggestion string
}

func (e *AgentError) Error() string { return fmt.Sprintf("agent %s: %s", e.Kind, e.Message) }

var errAgentTimeout = errors.New("the run has missed its deadline")

// agentEnded returns the error for a run whose context has ended: a timeout or an abort.
func agentEnded(ctx context.Context) *AgentError {
	cause := context.Cause(ctx)
	if errors.Is(cause, errAgentTimeout) || errors.Is(cause, context.DeadlineExceeded) {
		return &AgentError{Kind: AgentTimeout, Message: cause.Error()}
	}
	return &AgentError{Kind: AgentAborted, Message: cause.Error()}
}

// agentAnswer reads the result of a run.
func agentAnswer(h schema.Harness, r schema.AgentRunResult) (AgentAnswer, error) {
	codec, err := client.CodecOf(string(h))
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

// textOfAnswer returns the text parts of an answer, joined by line breaks.
func textOfAnswer(m transcript.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == transcript.Text && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// modelNotFound is the name that all shims give to the error about an unknown model.
const modelNotFound = "ProviderModelNotFoundError"

// unknownModel matches the message of that error, for example "Model not found: p/opsu. Did you mean: opus,
// opus-4?". Some harnesses give plugins only the message. The groups are the provider, the model, and the
// provider's suggested models.
var unknownModel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Model not found: ([^/]+)/(.+?)\.(?: Did you mean: (.+)\?)?$`)
})

// A harnessError is an error in the form in which shims report it. Only the error modelNotFound has the
// members after StatusCode.
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

// maxAgentMessage bounds the length of an error message, because it may be a whole page of HTML.
const maxAgentMessage = 1_000

// agentError converts the failure of a run. A shim passes on the harness's own error object, which may have
// any form.
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
