package ask_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/agents/ask"
	"github.com/magicctx/magicctx-host/internal/tokens"
)

func TestKindsOfFailures(t *testing.T) {
	for text, want := range map[string]ask.Kind{
		"429 Too Many Requests":          ask.Transient,
		"Rate limit reached":             ask.Transient,
		"rate_limit_error":               ask.Transient,
		"request timed out":              ask.Transient,
		"connect ETIMEDOUT 1.2.3.4":      ask.Transient,
		"read ECONNRESET":                ask.Transient,
		"503 Service Unavailable":        ask.Transient,
		"Overloaded":                     ask.Transient,
		"500: authentication failed":     ask.Other,
		"429 but 400 Bad Request":        ask.Other,
		"timeout: invalid_request_error": ask.Other,
		"forbidden (503)":                ask.Other,
		"1500 tokens":                    ask.Other,
		"no such thing":                  ask.Other,
		"prompt is too long: 210000 tokens > 200000 maximum": ask.Overflow,
	} {
		if got := ask.Classify(errors.New(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for _, test := range []struct {
		err  error
		want ask.Kind
	}{
		{fmt.Errorf("x: %w", context.Canceled), ask.Aborted},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), ask.TimedOut},
		{fmt.Errorf("x: %w", &ask.Error{Kind: ask.UnknownModel, Err: errors.New("429")}), ask.UnknownModel},
		{&ask.Error{Err: errors.New("429")}, ask.Transient},
	} {
		if got := ask.Classify(test.err); got != test.want {
			t.Errorf("%v: %s, want %s", test.err, got, test.want)
		}
	}
	if got := (&ask.Error{Kind: ask.TimedOut}).Error(); got != "timeout" {
		t.Errorf("an error without a cause reads %q", got)
	}
	for kind, final := range map[ask.Kind]bool{ask.Aborted: true, ask.TimedOut: true, ask.Overflow: true, ask.UnknownModel: false, ask.Transient: false, ask.Other: false} {
		if kind.Final() != final {
			t.Errorf("%s is final: %t", kind, kind.Final())
		}
	}
}

func TestModels(t *testing.T) {
	got := ask.Models(" a/b ", "a/b", "noslash", "/b", "a/", "", "x/y/z", "a/c")
	if d := cmp.Diff([]string{"a/b", "x/y/z", "a/c"}, got); d != "" {
		t.Error(d)
	}
	if got := ask.Models("typo"); got != nil {
		t.Errorf("only wrong names: %v", got)
	}
	provider, model, ok := ask.Split("openrouter/qwen/qwen3")
	if provider != "openrouter" || model != "qwen/qwen3" || !ok {
		t.Errorf("%q, %q, %t", provider, model, ok)
	}
}

type asker func(ctx context.Context, r ask.Request) (ask.Answer, error)

func (f asker) Ask(ctx context.Context, r ask.Request) (ask.Answer, error) { return f(ctx, r) }

// waits blocks until its context ends. Its error does not mention the context, so Once must find out by itself whether
// a deadline has passed or the caller has cancelled.
var waits = asker(func(ctx context.Context, _ ask.Request) (ask.Answer, error) {
	<-ctx.Done()
	return ask.Answer{}, errors.New("429 socket closed")
})

func TestOnceEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := ask.Once(t.Context(), waits, ask.Request{Agent: "historian", Model: "a/b", Timeout: time.Minute})
		if ask.Classify(err) != ask.TimedOut || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}

		stop := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		_, err = ask.Once(ctx, waits, ask.Request{Timeout: time.Minute})
		if ask.Classify(err) != ask.Aborted || !errors.Is(err, stop) {
			t.Errorf("aborted: %v", err)
		}

		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err = ask.Once(ctx, waits, ask.Request{Timeout: time.Minute}); ask.Classify(err) != ask.TimedOut {
			t.Errorf("the caller's deadline: %v", err)
		}
	})
}

func TestSuggestedModelIsAskedOnce(t *testing.T) {
	for _, test := range []struct {
		model, suggestion string
		want              []string
	}{
		{"a/b", "a/b2", []string{"a/b", "a/b2"}},
		{"a/b", "", []string{"a/b"}},
		{"a/b", "a/b", []string{"a/b"}},
		{"", "a/b2", []string{""}}, // the question named no model
	} {
		var asked []string
		_, err := ask.Once(t.Context(), asker(func(_ context.Context, r ask.Request) (ask.Answer, error) {
			asked = append(asked, r.Model)
			return ask.Answer{}, fmt.Errorf("run: %w", &ask.Error{Kind: ask.UnknownModel, Suggestion: test.suggestion, Err: errors.New("unknown")})
		}), ask.Request{Model: test.model})
		if d := cmp.Diff(test.want, asked); d != "" || ask.Classify(err) != ask.UnknownModel {
			t.Errorf("%+v: %v, %s", test, err, d)
		}
	}
}

// If a harness reported too few tokens, a historian with endless answers would look nearly free, and the host would ask
// it again and again.
func TestUsageIsAtLeastTheCountedTokens(t *testing.T) {
	prompt, text := strings.Repeat("word ", 1000), strings.Repeat("word ", 400)
	asked, said := tokens.Count("be brief")+tokens.Count(prompt), tokens.Count(text)
	for _, test := range []struct {
		name           string
		reported, want ask.Usage
	}{
		{"nothing", ask.Usage{}, ask.Usage{Input: asked, Output: said}},
		{"hardly anything", ask.Usage{Input: 10, Output: 10, CacheRead: 2}, ask.Usage{Input: asked, Output: said}},
		{"only the prompt", ask.Usage{CacheWrite: asked}, ask.Usage{CacheWrite: asked, Output: said}},
		{"a prompt in the cache", ask.Usage{Input: 3, CacheRead: asked, Output: 2 * said}, ask.Usage{Input: 3, CacheRead: asked, Output: 2 * said}},
		{"a gain", ask.Usage{Input: -988_000, CacheRead: 1_000_000, Output: -5}, ask.Usage{CacheRead: 1_000_000, Output: said}},
		{"an overflow", ask.Usage{Input: math.MaxInt, Output: said}, ask.Usage{Input: 100_000_000, Output: said}},
		{"by larger tokens", ask.Usage{Input: asked * 6 / 10, Output: said * 6 / 10}, ask.Usage{Input: asked * 6 / 10, Output: said * 6 / 10}},
	} {
		got, err := ask.Once(t.Context(), asker(func(context.Context, ask.Request) (ask.Answer, error) {
			return ask.Answer{Text: text, Usage: test.reported}, nil
		}), ask.Request{System: "be brief", Prompt: prompt})
		if err != nil || got.Usage != test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got.Usage, err, test.want)
		}
	}
}
