package summary

import (
	"testing"

	"github.com/magicctx/magicctx-host/agents/historian"
)

func TestProblemNamesEachModelAndEachReasonOnce(t *testing.T) {
	for _, test := range []struct {
		name     string
		attempts []historian.Attempt
		want     string
	}{
		{"two reasons", []historian.Attempt{{Model: "a/small", Problem: "503"}, {Model: "a/large", Problem: "401"}}, "a/small: 503; a/large: 401"},
		{"a model that was asked three times", []historian.Attempt{{Model: "a/small", Problem: "503"}, {Model: "a/small", Problem: "503"}, {Model: "a/small", Problem: "429"}}, "a/small: 503; a/small: 429"},
		{"one reason of two models", []historian.Attempt{{Problem: "no steps"}, {Model: "a/large", Problem: "no steps"}}, "the agent's own model, a/large: no steps"},
		{"an accepted answer", []historian.Attempt{{Model: "a/small"}, {Model: "a/large", Problem: "401"}}, "a/large: 401"},
	} {
		if got := problemOf(historian.Result{Attempts: test.attempts}); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
