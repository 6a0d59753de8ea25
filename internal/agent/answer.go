package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/magicctx/magicctx-host/internal/json"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/overflow"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

var errTimeout = errors.New("the run has missed its deadline")

// The function `failed` returns the error for a run that has failed. `word` describes the failure for people. For
// example, with "unavailable" the error begins with "agent unavailable: ".
func failed(kind ask.Kind, word, message string) *ask.Error {
	e := &ask.Error{Kind: kind, Err: fmt.Errorf("agent %s: %s", word, message)}
	if kind == "" {
		e.Kind = ask.Classify(e.Err)
	}
	return e
}

func unavailable(reason string) *ask.Error { return failed("", "unavailable", reason) }

func ended(ctx context.Context) *ask.Error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errTimeout) || errors.Is(cause, context.DeadlineExceeded) {
		return failed(ask.TimedOut, "timeout", cause.Error())
	}
	return failed(ask.Aborted, "aborted", cause.Error())
}

// The answer's usage is the sum over all steps of the run.
func endOf(h schema.Harness, r schema.AgentRunResult) (e End) {
	codec, err := client.CodecOf(string(h))
	if err != nil {
		return End{Err: err}
	}
	for _, raw := range r.Answers {
		m := codec.Decode(raw)
		e.Usage = e.Usage.Plus(ask.Usage(m.Usage))
		if m.Usage.Prompt() > 0 && m.Finish != transcript.Unfinished && !m.Errored {
			e.Steps++
		}
		e.Model = m.Model.Provider + "/" + m.Model.ID
		e.Text = textOf(m)
	}
	if r.Failure.Reason != "" {
		e.Err = failureOf(r.Failure)
	}
	return e
}

func textOf(m transcript.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == transcript.Text && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

const modelNotFound = "ProviderModelNotFoundError"

// unknownModel matches the message of the error modelNotFound, for example "Model not found: p/opsu. Did you mean:
// opus, opus-4?". It is needed because some harnesses tell a plugin only the message of an error. The groups are the
// provider, the model, and the models that the harness suggests.
var unknownModel = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Model not found: ([^/]+)/(.+?)\.(?: Did you mean: (.+)\?)?$`)
})

// A harnessError is an error as shims report it. The fields after StatusCode are set only if Name is modelNotFound.
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

// maxMessage bounds the length of an error message, because a message may be a whole page of HTML.
const maxMessage = 1_000

// f.Error is the harness's own error. It may be any JSON value, for example a string.
func failureOf(f schema.AgentFailure) *ask.Error {
	var e harnessError
	message := ""
	if json.Unmarshal(f.Error, &message) != nil {
		_ = json.Unmarshal(f.Error, &e) // an error of another form has no name
		message = cmp.Or(e.Data.Message, e.Name, string(f.Error))
	}
	if e.Data.StatusCode != 0 {
		message = fmt.Sprintf("%d: %s", e.Data.StatusCode, message)
	}
	message = strings.ToValidUTF8(message[:min(len(message), maxMessage)], "")
	if unknown := unknownModel().FindStringSubmatch(e.Data.Message); unknown != nil {
		e.Name, e.Data.ProviderID, e.Data.ModelID = modelNotFound, unknown[1], unknown[2]
		e.Data.Suggestions = strings.Split(unknown[3], ", ")
	}
	_, isOverflow := overflow.Detect(f.Error)
	switch {
	case f.Reason == "timeout":
		return failed(ask.TimedOut, "timeout", message)
	case f.Reason == "aborted", e.Name == "MessageAbortedError":
		return failed(ask.Aborted, "aborted", message)
	case e.Name == modelNotFound:
		unknown := failed(ask.UnknownModel, "unknown-model", fmt.Sprintf("there is no model %s/%s", e.Data.ProviderID, e.Data.ModelID))
		if len(e.Data.Suggestions) > 0 && e.Data.Suggestions[0] != "" {
			unknown.Suggestion = e.Data.ProviderID + "/" + e.Data.Suggestions[0]
		}
		return unknown
	case isOverflow:
		return failed(ask.Overflow, "overflow", message)
	}
	return failed("", "failed", message)
}
