package main

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/agents/historian/historiantest"
	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/internal/chronicle"
)

func playHistory(ctx context.Context, r *recording) error {
	r.mock.AddRule(mockllm.Rule{
		Name:   "historian",
		Match:  func(q *mockllm.Request) bool { return historiantest.RangeOf(promptOf(q)) != chronicle.Range{} },
		Answer: func(q *mockllm.Request) mockllm.Step { return summary(promptOf(q)) },
	})
	return playScript(ctx, r)
}

func promptOf(q *mockllm.Request) string {
	if len(q.Messages) == 0 || len(q.Messages[0].Content) == 0 {
		return ""
	}
	return q.Messages[0].Content[0].Text
}

const (
	compartmentMessages = 8
	// historianTakes is long enough for some passes while the historian runs, but shorter than a real run. On a busy
	// machine, too few passes may fit into this time. If so, record the trace again.
	historianTakes = 600 * time.Millisecond
)

var goFile = regexp.MustCompile(`[\w/.-]+\.go\b`)

// The function `summary` mentions only every second file, so that the receipts name some missing anchors.
func summary(prompt string) mockllm.Step {
	r := historiantest.RangeOf(prompt)
	told := "Comments were added"
	for i, file := range goFile.FindAllString(prompt[strings.LastIndex(prompt, "=== BEGIN DATA"):], -1) {
		if i%2 == 0 && !strings.Contains(told, file) {
			told += ", " + file + " was read"
		}
	}
	var parts []string
	for from := r.Start; from <= r.End; from += compartmentMessages {
		part := chronicle.Range{Start: from, End: min(from+compartmentMessages-1, r.End)}
		parts = append(parts, historiantest.Compartment(part, told))
	}
	step := mockllm.Say(historiantest.Output(parts...))
	step.Delay = historianTakes
	return step
}
