package main

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// The method `again` replays a recorded trace through the host, with each value of `spending` and each price of cached
// tokens. It does not start OpenCode, so it is much faster than a full run. The scripted summariser plays the
// historian, and the model's calls of ctx_reduce come from the trace. The bills are close to those of a full run, but
// do not include the answers of the main conversation.
func (o *options) again(ctx context.Context, stdout, stderr io.Writer) error {
	by, err := billedBy(o.route, o.binding)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "spending\treads at\tbusts\truns\tlargest prompt\treads\tnot in the cache\thistorian\tbill\tunmodified\tratio\tbeside hindsight, its busts\tthinking kept\t")
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

func (o *options) dials() []schema.Spending {
	if o.spending != "" {
		return []schema.Spending{o.spending}
	}
	return schema.Spendings
}

func (o *options) replay(ctx context.Context, by billed, spending schema.Spending, stderr io.Writer) (row string, err error) {
	f, err := os.Open(o.trace)
	if err != nil {
		return "", err
	}
	defer f.Close()
	c := config.Default()
	c.Spending, c.Historian.Disable = spending, false
	h := retold{look: looker{isImplicit: by.route.IsImplicit()}, prices: by.prices, known: map[uint64]told{}}
	played, err := replay.Run(ctx, f, replay.Options{Config: &c, Window: o.window, Prices: replay.Prices{replay.EveryModel: by.prices}, Ask: h.ask, Watch: h.watch})
	if err = errors.Join(err, h.err); err != nil {
		return "", err
	}
	s := played.Summary()
	limit := 0
	for _, missing := range s.Missing {
		fmt.Fprintf(stderr, "the trace lacks %s\n", missing)
	}
	peak := 0
	for _, p := range s.Detail {
		peak, limit = max(peak, p.Tokens.Prompt()), max(limit, p.WindowTokens)
	}
	reads := promptcache.Bill(promptcache.Tokens{Read: s.Tokens.Read}, by.prices)
	asked := promptcache.Bill(h.used, by.prices)
	bill := s.Bill + asked
	excess, best := h.look.excess(limit)
	cells := []string{
		string(spending), fmt.Sprint(by.reads()), fmt.Sprint(len(s.Busts)), fmt.Sprint(h.runs), format.Grouped(peak), format.Money(reads), format.Money(s.Bill - reads),
		format.Money(asked), format.Money(bill), format.Money(s.RawBill), fmt.Sprintf("%.3f", bill/s.RawBill),
		fmt.Sprintf("%.3f, %d", bill/(bill-excess), len(best)), unless(h.thoughts == 0, format.FinePercent(float64(h.kept)/float64(max(1, h.thoughts)))), "",
	}
	return strings.Join(cells, "\t"), nil
}

type retold struct {
	mu     sync.Mutex // guards all fields while the replay runs
	runs   int
	used   promptcache.Tokens
	look   looker
	prices schema.Price
	// `known` holds the facts about each message by the message's hash.
	known map[uint64]told
	// `thoughts` counts the thinking blocks in the harness's messages. `kept` counts the thinking blocks that were
	// sent.
	thoughts, kept int
	err            error
}

type told struct {
	blocks   []block
	thoughts int
}

var seed = maphash.MakeSeed()

func (h *retold) watch(s replay.Sent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	raw, wire, err := s.Arrays()
	if err != nil {
		h.err = errors.Join(h.err, err)
		return
	}
	for _, m := range raw {
		h.thoughts += h.read(m).thoughts
	}
	var all []block
	for _, m := range wire {
		t := h.read(m)
		all, h.kept = append(all, t.blocks...), h.kept+t.thoughts
	}
	isGone := pipeline.Cause(s.Cause).PrefixWasGone()
	h.look.see(all, h.prices, isGone, s.Bust)
}

func (h *retold) read(raw json.Value) told {
	key := maphash.Bytes(seed, raw)
	t, ok := h.known[key]
	if !ok {
		var err error
		if t, err = h.parse(raw); err != nil && h.err == nil {
			h.err = err
		}
		h.known[key] = t
	}
	return t
}

var dropRange = regexp.MustCompile(`^(\d+)-(\d+)$`)

// The method `parse` reads a message. If the message contains a call of ctx_reduce, it tells the looker which tags the
// model has asked to drop.
func (h *retold) parse(raw json.Value) (t told, err error) {
	var m struct {
		Parts []struct {
			Type  string `json:"type"`
			Text  string `json:"text"`
			ID    string `json:"callID"`
			Tool  string `json:"tool"`
			State struct {
				Input  json.Value `json:"input"`
				Output string     `json:"output"`
			} `json:"state"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return t, fmt.Errorf("message of the wire: %w", err)
	}
	if m.Parts == nil {
		return t, errors.New("a message has no parts: -again plays traces of OpenCode only")
	}
	add := func(b block, tokens int) {
		b.tokens = tokens
		t.blocks = append(t.blocks, b)
	}
	for _, p := range m.Parts {
		switch p.Type {
		case "reasoning":
			t.thoughts++
		case "text":
			add(blockNamed(p.Text, "", ""), tokens.Count(p.Text))
		case "tool":
			add(blockNamed("", p.ID, ""), tokens.Count(string(p.State.Input)))
			add(blockNamed(p.State.Output, "", p.ID), tokens.Count(p.State.Output))
			var asked struct {
				Drop string `json:"drop"`
			}
			if p.Tool == "ctx_reduce" && json.Unmarshal(p.State.Input, &asked) == nil {
				if found := dropRange.FindStringSubmatch(asked.Drop); found != nil {
					first, _ := strconv.Atoi(found[1])
					last, _ := strconv.Atoi(found[2])
					h.look.ask(first, last)
				}
			}
		}
	}
	return t, nil
}

func (h *retold) ask(p schema.AgentRunParams) schema.AgentRunResult {
	if !isForHistorian(p.Prompt) {
		return schema.AgentRunResult{Failure: schema.AgentFailure{Reason: "error", Error: json.Quote("the story has no answer")}}
	}
	a := compartments(p.Prompt)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs++
	h.look.summarise(a)
	h.used = h.used.Add(promptcache.Tokens{Write: tokens.Count(p.System) + tokens.Count(p.Prompt), Output: a.tokens()})
	answer, _ := json.Marshal(map[string]any{ // texts and numbers can always be encoded
		"info":  map[string]any{"id": fmt.Sprintf("msg_run%d", h.runs), "role": "assistant", "finish": "stop", "time": map[string]any{"created": 1, "completed": 1}},
		"parts": []map[string]any{{"type": "text", "text": a.text}},
	})
	return schema.AgentRunResult{Answers: []json.Value{answer}}
}
