package tool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// summariesPage lists the summaries in the prompt, the newest first. If `rest` is a number, for example "40", it lists
// only the summaries before message 40.
func (t *Tools) summariesPage(ctx context.Context, key store.Key, rest string) (schema.CommandExecuteResult, error) {
	all, err := t.summariesInPrompt(ctx, key)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	if len(all) == 0 {
		return pageOf("Summaries", "No message is summarised in the prompt yet.", again), nil
	}
	if before, err := strconv.Atoi(rest); err == nil {
		all = slices.DeleteFunc(all, func(c chronicle.Compartment) bool { return c.Start >= before })
	}
	const shown = maxChoices - 2
	var choices []schema.Choice
	for _, c := range slices.Backward(all[max(0, len(all)-shown):]) {
		choices = append(choices, schema.Choice{Label: fmt.Sprintf("Messages %s: %s", c.Range(), shortened(c.Title)), Command: menuName, Arguments: fmt.Sprintf("summary %d", c.Start)})
	}
	if older := len(all) - shown; older > 0 {
		choices = append(choices, schema.Choice{Label: "Older: " + format.Count(older, "summary"), Command: menuName, Arguments: fmt.Sprintf("summaries %d", all[older].Start)})
	}
	return pageOf("Summaries", "Each of these stands in the prompt for its messages, newest first. Choose one to read it.", append(choices, backToTaken)...), nil
}

// summaryPage shows the summary of a message ("12").
func (t *Tools) summaryPage(ctx context.Context, key store.Key, rest string) (schema.CommandExecuteResult, error) {
	all, err := t.summariesInPrompt(ctx, key)
	if err != nil {
		return schema.CommandExecuteResult{}, err
	}
	n, _ := strconv.Atoi(rest)
	i := slices.IndexFunc(all, func(c chronicle.Compartment) bool { return c.Start <= n && n <= c.End })
	if i < 0 {
		return warn("/%s summary needs the number of a message that is summarised in the prompt.", menuName), nil
	}
	c := all[i]
	text := format.Clean(c.Title) + "\n" + format.CleanLines(format.Shorten(strings.TrimSpace(c.Tiers[0]), maxPage))
	if c.Missing != "" {
		text += "\nOnly the messages have these details: " + format.Clean(format.Shorten(c.Missing, maxPage))
	}
	return pageOf(fmt.Sprintf("Summary of messages %s", c.Range()), text,
		schema.Choice{Label: "Read the messages word for word", Command: menuName, Arguments: fmt.Sprintf("message %d", c.Start)}, again,
		schema.Choice{Label: "Back to the summaries", Command: menuName, Arguments: "summaries"}), nil
}

var backToTaken = schema.Choice{Label: "Back to what was taken out", Command: menuName, Arguments: "taken"}

// summariesInPrompt leaves out summaries that are still waiting for a bust, because the model reads the messages
// instead.
func (t *Tools) summariesInPrompt(ctx context.Context, key store.Key) ([]chronicle.Compartment, error) {
	st, err := t.Statuses.Session(ctx, schema.SessionStatusParams{Harness: schema.Harness(key.Harness), Session: key.Session})
	if err != nil || st.Head == nil {
		return nil, err
	}
	all, _, err := t.Store.History.Compartments(ctx, key)
	return slices.DeleteFunc(all, func(c chronicle.Compartment) bool { return c.Start > st.Head.Through }), err
}
