package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/schema"
)

// again plays a trace of an earlier run through the host, without OpenCode, at each setting of the dial and each price
// of reading. The scripted summariser answers the historian, at the times at which this host asks. It is many times
// faster than a run with OpenCode, for the choice of settings. Its bills are close to those of a run, and lack the
// answers of the main conversation. The model's calls of ctx_reduce are those of the trace.
func (o *options) again(ctx context.Context, stdout, stderr io.Writer) error {
	by, err := billedBy(o.route, o.binding)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "spending\treads at\tbusts\truns\tlargest prompt\treads\tnot in the cache\thistorian\tbill\tunmodified\tratio\t")
	for _, reads := range o.reads {
		for _, spending := range o.dials() {
			row, err := o.replay(ctx, by.reading(reads), spending, stderr)
			if err != nil {
				return fmt.Errorf("%s, spending %s, reads at %g: %w", o.trace, spending, reads, err)
			}
			fmt.Fprintln(w, row)
		}
	}
	return w.Flush()
}

// dials returns the settings of the dial to play: the chosen one, or all.
func (o *options) dials() []schema.Spending {
	if o.spending != "" {
		return []schema.Spending{o.spending}
	}
	return schema.Spendings
}

// replay plays the trace once and returns its line of the table.
func (o *options) replay(ctx context.Context, by billed, spending schema.Spending, stderr io.Writer) (row string, err error) {
	f, err := os.Open(o.trace)
	if err != nil {
		return "", err
	}
	defer f.Close()
	c := config.Default()
	c.Spending, c.Historian.Disable = spending, false
	var h rehistorian
	played, err := replay.Run(ctx, f, replay.Options{Config: &c, Price: by.prices, Ask: h.ask})
	if err != nil {
		return "", err
	}
	s := played.Summary()
	for _, missing := range s.Missing {
		fmt.Fprintf(stderr, "the trace lacks %s\n", missing)
	}
	peak := 0
	for _, p := range s.Detail {
		peak = max(peak, p.Tokens.Prompt())
	}
	reads := promptcache.Bill(promptcache.Tokens{Read: s.Tokens.Read}, by.prices)
	asked := promptcache.Bill(h.used, by.prices)
	bill := s.Bill + asked
	cells := []string{
		string(spending), fmt.Sprint(by.reads()), fmt.Sprint(len(s.Busts)), fmt.Sprint(h.runs), format.Grouped(peak), format.Money(reads), format.Money(s.Bill - reads),
		format.Money(asked), format.Money(bill), format.Money(s.RawBill), fmt.Sprintf("%.3f", bill/s.RawBill), "",
	}
	return strings.Join(cells, "\t"), nil
}

// A rehistorian is the scripted summariser in a replay.
type rehistorian struct {
	mu   sync.Mutex
	runs int
	used promptcache.Tokens
}

func (h *rehistorian) ask(p schema.AgentRunParams) schema.AgentRunResult {
	if !isForHistorian(p.Prompt) {
		return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "error", Error: json.Quote("the story has no answer")}}
	}
	a := compartments(p.Prompt)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs++
	h.used = h.used.Add(promptcache.Tokens{Write: tokens.Count(p.System) + tokens.Count(p.Prompt), Output: a.tokens()})
	answer, _ := json.Marshal(map[string]any{ // texts and numbers encode
		"info":  map[string]any{"id": fmt.Sprintf("msg_run%d", h.runs), "role": "assistant", "finish": "stop", "time": map[string]any{"created": 1, "completed": 1}},
		"parts": []map[string]any{{"type": "text", "text": a.text}},
	})
	return schema.AgentRunResult{Answers: []json.Value{answer}}
}
