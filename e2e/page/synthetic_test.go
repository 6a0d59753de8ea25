package page

import (
	"fmt"
	"math"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/internal/replay"
	"github.com/magicctx/magicctx-host/schema"
)

// hostile is a name that contains scripts. If the page does not escape it, one of the scripts writes an error to the
// console, and the test fails.
const hostile = `</script><script>console.error("injected")</script><img src=x onerror=console.error(1)>"'` + "`{{.}}\u202e\xff"

const window = 64_000

// A writer makes up passes that look real: the prompt grows with each pass, and shrinks when it reaches the threshold.
type writer struct {
	summary replay.Summary
	from    replay.Sources
}

func (w *writer) pass(session, model string, grown int) *replay.Pass {
	n := len(w.summary.Detail)
	p := &replay.Pass{
		Pass: n + 1, Session: session, Verdict: schema.Steady, Model: model, WindowTokens: window, ThresholdTokens: window * 65 / 100,
		Messages: n + 1, HostMS: 0.3 + math.Abs(math.Sin(float64(n)*1.7)), CallMS: 1.9,
	}
	before := w.from.Total()
	switch {
	case w.from.System == 0:
		w.from.System, p.Verdict, p.Cause = 2300, schema.Hard, "first-pass"
	case before > p.ThresholdTokens:
		w.from.Results, w.from.Inputs, w.from.Reasoning = w.from.Results/3, w.from.Inputs/2, 0
		p.Verdict, p.Cause, p.Bust, p.BustCause = schema.Soft, "pressure", true, "pressure"
	case n%173 == 90:
		p.Bust, p.BustCause = true, "transcript-changed"
	}
	if n == 100 {
		w.from.Guidance, w.from.Head = 900, 4000
	}
	w.from.Text += grown / 8
	w.from.Reasoning += grown / 6
	w.from.Inputs += grown / 5
	w.from.Results += grown / 2
	if n%40 == 20 {
		w.from.Files += 160
	}
	if w.from.Text > 12_000 {
		w.from.Text, w.from.Files = 3000, 0
	}
	p.Sources = w.from
	all := w.from.Total()
	p.Tokens.Read = min(before, all)
	if p.Bust {
		p.Tokens.Read, p.PrefixTokens = w.from.System, 40
		w.bust(p)
	}
	p.Tokens.Write = all - p.Tokens.Read
	p.Raw.Read = all + 50*n
	price := schema.Price{Fresh: 3, Write: 3.75, Read: 0.3}
	p.Bill, p.RawBill = promptcache.Bill(p.Tokens, price), promptcache.Bill(p.Raw, price)
	p.WireTokens = all - w.from.System
	w.add(p)
	return p
}

func (w *writer) add(p *replay.Pass) {
	s := &w.summary
	s.Detail = append(s.Detail, p)
	s.Passes = len(s.Detail)
	s.Prompts.Window, s.Prompts.Largest, s.Prompts.RawLargest = window, max(s.Prompts.Largest, p.Tokens.Prompt()), max(s.Prompts.RawLargest, p.Raw.Prompt())
	if p.Raw.Prompt() > window && s.Prompts.RawRefusedAt == 0 {
		s.Prompts.RawRefusedAt = p.Pass
	}
	s.Tokens.Read, s.Tokens.Written = s.Tokens.Read+p.Tokens.Read, s.Tokens.Written+p.Tokens.Write
	s.RawTokens.Read += p.Raw.Read
	s.Bill, s.RawBill = s.Bill+p.Bill, s.RawBill+p.RawBill
}

func (w *writer) bust(p *replay.Pass) {
	o := replay.Outcome{Resent: 20_000, Removed: 30_000, Cost: 0.07, Gain: 0.009 * float64(p.Pass%40)}
	if o.Gain >= o.Cost {
		o.PaidOffAt, o.NeededAt = p.Pass+8, p.Pass+20
	}
	w.summary.Busts = append(w.summary.Busts, replay.Bust{Pass: p.Pass, Verdict: p.Verdict, Cause: p.BustCause, Outcome: o})
	for i := range p.Pass % 60 {
		u := replay.Taken{Tag: i + 1, Edit: "drop", Rule: "tool reclaim", Unit: "tool", Tool: "read", Label: "/home/somebody/projects/harbour/internal/ledger/entry_with_a_long_name_test.go", Tokens: 3000 - 40*i}
		if i%3 == 0 {
			u.Unit, u.Tool, u.Label, u.Rule = "text", "", "First of all, look at the ledger of the harbour "+hostile, "queued drops"
		}
		p.Taken = append(p.Taken, u)
	}
}

func thirtySessions() replay.Summary {
	var all writer
	for i := range 30 {
		w := writer{summary: all.summary}
		for range 1 + i*i {
			w.pass(fmt.Sprintf("ses_%02dc0ffee5e55ionNumber", i+1), "anthropic/claude-sonnet", 600+100*i)
		}
		all = w
	}
	return all.summary
}

func endlessSession(passes int) replay.Summary {
	var w writer
	for range passes {
		w.pass("ses_endless", "anthropic/claude-sonnet", 1500)
	}
	return w.summary
}

func brokenSession() replay.Summary {
	var w writer
	for range 80 {
		p := w.pass("ses "+hostile, hostile, 1800)
		if p.Pass == 40 {
			p.Bust, p.BustCause, p.Cause = true, "unexplained", hostile
			w.summary.UnexplainedBusts++
			w.bust(p)
		}
		if p.Pass == 60 {
			p.Bust, p.BustCause, p.Verdict = true, hostile, schema.Verdict(hostile)
			w.bust(p)
		}
	}
	w.summary.InvariantViolations = []replay.Finding{{Pass: 40, Rule: "steady is append-only"}}
	w.summary.Overflows = []replay.Overflow{{Pass: 12, Prompt: 64_001, Window: window}, {Pass: 50, Prompt: 70_000, Window: window}, {Pass: 51, Prompt: 71_000, Window: window}}
	w.summary.ValidatorHits = []replay.Finding{{Pass: 41, Rule: hostile, Detail: "msg " + hostile}}
	return w.summary
}
