package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

func askerFor(t *testing.T, c *runner) Asker {
	t.Helper()
	return aRun(t, c).Asker
}

var question = ask.Request{Agent: historian.Agent, Model: "p/opsu", System: "You summarise.", Prompt: "Summarise.", Timeout: time.Minute}

func TestAskerAnswers(t *testing.T) {
	c := says("A summary.")
	got, err := ask.Once(t.Context(), askerFor(t, c), question)
	want := ask.Answer{Text: "A summary.\nend", Model: "p/m/1", Usage: ask.Usage{Input: 7, Output: 3, CacheRead: 20, CacheWrite: 5}}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if p := c.asked[0]; p.Agent != historian.Agent || p.Session != "ses_1" || p.Title != "history 1-9" {
		t.Errorf("asked for %+v", p)
	}
}

// The configured model is unknown, and the harness suggests another model in its error message. The host must then ask
// the suggested model.
func TestAskerFollowsASuggestion(t *testing.T) {
	c := says("A summary.")
	answers := c.run
	c.run = func(stop context.Context, p schema.AgentRunParams) (schema.AgentRunResult, error) {
		if p.Model == "p/opus" {
			return answers(stop, p)
		}
		raw := json.Value(`{"name":"UnknownError","data":{"message":"Model not found: p/opsu. Did you mean: opus?"}}`)
		return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "error", Error: raw}}, nil
	}
	if got, err := ask.Once(t.Context(), askerFor(t, c), question); err != nil || got.Text == "" || len(c.asked) != 2 {
		t.Errorf("%+v, %v after %d runs", got, err, len(c.asked))
	}
}

func TestAskerNamesTheKindOfAFailure(t *testing.T) {
	for raw, want := range map[string]ask.Kind{
		`{"name":"MessageAbortedError","data":{}}`:                             ask.Aborted,
		`"prompt is too long: 210000 tokens > 200000 maximum"`:                 ask.Overflow,
		`{"name":"ProviderModelNotFoundError","data":{"providerID":"p"}}`:      ask.UnknownModel,
		`{"name":"APIError","data":{"message":"Overloaded","statusCode":529}}`: ask.Transient,
		`{"name":"APIError","data":{"message":"no key","statusCode":401}}`:     ask.Other,
	} {
		c := &runner{run: func(context.Context, schema.AgentRunParams) (schema.AgentRunResult, error) {
			return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "error", Error: json.Value(raw)}}, nil
		}}
		_, err := ask.Once(t.Context(), askerFor(t, c), question)
		var failed *ask.Error
		if !errors.As(err, &failed) || failed.Kind != want {
			t.Errorf("%s: got %v, want kind %s", raw, err, want)
		}
	}
}
