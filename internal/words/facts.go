package words

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A Fact is one thing to know about a session.
type Fact struct {
	Label, Text string
	IsFault     bool
}

// Facts describes a session: first its faults, then its history, its busts and its newest prompt. The texts are
// safe to print.
func Facts(st schema.SessionStatus, now time.Time) []Fact {
	var all []Fact
	for _, text := range Faults(st, now) {
		all = append(all, Fact{"fault", text, true})
	}
	for _, f := range []Fact{
		{Label: "history", Text: historyOf(st)},
		{Label: "in prompt", Text: headOf(st.Head, st.Tokens.Head, now)},
		{Label: "historian", Text: historianOf(st.History, now)},
		{Label: "budget", Text: budgetsOf(st, now)},
		{Label: "dreamer", Text: dreamOf(st.Dream, now)},
		{Label: "sidekick", Text: sidekickOf(st.Sidekick)},
		{Label: "next bust", Text: NextBust(st)},
		{Label: "last bust", Text: lastBustOf(st, now)},
		{Label: "busts", Text: bustsOf(st)},
		{Label: "cache hits", Text: CacheHits(st)},
		{Label: "saved", Text: Saved(st)},
		{Label: "spent", Text: Spent(st.Saved)},
		{Label: "spending", Text: spendingOf(st)},
		{Label: "dropped", Text: Dropped(st)},
		{Label: "read again", Text: Regret(st.Removals, st.RereadCost)},
		{Label: "recalled", Text: Recalled(st.Recalled)},
		{Label: "window", Text: windowOf(st, now)},
		{Label: "cache life", Text: cacheLifeOf(st)},
		{Label: "last price", Text: priceOf(st.LastPrice)},
		{Label: "thinking", Text: thinkingOf(st)},
		{Label: "last prompt", Text: lastOf(st, now)},
	} {
		if f.Text != "" {
			all = append(all, f)
		}
	}
	return all
}

// NextBust says when the next bust is due, and how much it frees.
func NextBust(st schema.SessionStatus) string {
	n := st.NextBust
	if n == nil {
		return "unknown until the window is known"
	}
	var text string
	switch due := isDue(st); {
	case n.IsAsked:
		text = "with the next message, if there is something to free: you asked for it"
	case n.Waits:
		text = "waits: it would not pay off yet, see last price"
	case due && st.LastPrice != nil && !st.LastPrice.Bust:
		text = "as soon as it pays, see last price"
	case due && waitsForTheNewest(st):
		text = newestMarked
	case due:
		text = "due: " + boundsOf(n)
	default:
		text = "at " + format.Tokens(n.At) + format.OrEarlier(st.Spending) + ": " + boundsOf(n)
	}
	return text + markedOf(st, "; ")
}

func isDue(st schema.SessionStatus) bool { return st.Pressure >= st.Threshold && st.Threshold > 0 }

const newestMarked = "due, but the marked pieces are among the newest"

// waitsForTheNewest reports whether the last request made no bust, because all marked pieces are still protected.
func waitsForTheNewest(st schema.SessionStatus) bool {
	return st.Queued > 0 && !st.LastPassBust && st.LastCause == "nothing-to-do"
}

func markedOf(st schema.SessionStatus, before string) string {
	if st.Queued == 0 {
		return ""
	}
	return before + format.Count(st.Queued, "piece") + " marked by the model"
}

// boundsOf says how much a bust frees at most, and what it costs at least. If the cost is unknown or below a cent,
// boundsOf names the number of tokens that have to be sent again, not the cost.
func boundsOf(n *schema.NextBust) string {
	text := "frees at most " + format.Tokens(n.Freed)
	if n.Cost != nil && *n.Cost >= 0.01 {
		return text + ", costs " + format.Dollars(*n.Cost) + " or more"
	}
	return text + ", re-sends " + format.Tokens(n.Resent) + " or more"
}

var reasons = map[string]string{
	"pressure":           "because the prompt had reached the threshold",
	"force":              "because the prompt had reached 85% of the window",
	"overflow":           "because the provider had refused the prompt as too long",
	"rent":               "because keeping what it removed would have cost more",
	"idle":               "after a pause longer than the cache lives",
	"model-changed":      "because the model had changed",
	"preamble-changed":   "because tools or system prompt had changed",
	"system-changed":     "because the system prompt had changed",
	"transcript-changed": "because the harness had changed sent messages",
	"flush":              "because you asked for it",
	"first-pass":         "with the first request",
	"head-reverted":      "because you had gone back to earlier messages",
	"unexplained":        "for no known reason, which is a mistake of magicctx",
}

// Reason says why a bust was made, for example "because you asked for it" for "flush".
func Reason(cause string) string {
	return cmp.Or(reasons[cause], "cause: "+format.Clean(cause))
}

// KnowsOldSize reports whether a text about a bust with this cause can name the size of the prompt before the bust. It
// cannot if the user has gone back to earlier messages. In that case, the host only knows how large the prompt would be
// without summaries, and no request was ever that large.
func KnowsOldSize(cause string) bool { return cause != "head-reverted" }

func lastBustOf(st schema.SessionStatus, now time.Time) string {
	b := st.LastBust
	if b == nil {
		return "none yet"
	}
	text := format.AgeOf(b.At, now) + " ago, " + Reason(b.Cause)
	if b.Removed > 0 {
		text += fmt.Sprintf("; it freed %s and re-sent %s", format.Tokens(b.Removed), format.Tokens(b.Resent))
	}
	if b.Cost != nil {
		text += " for " + format.AboutDollars(*b.Cost)
	}
	return text
}

func bustsOf(st schema.SessionStatus) string {
	passes := format.Count(st.Passes, "request")
	if st.Busts == 0 {
		return "none in " + passes
	}
	text := fmt.Sprintf("%d in %s", st.Busts, passes)
	if counts := causesOf(st); counts != "" {
		text += ": " + counts
	}
	return text
}

func causesOf(st schema.SessionStatus) string {
	var counts []string
	for _, c := range st.BustCauses {
		counts = append(counts, fmt.Sprintf("%s %d", format.Cause(c.Cause), c.Count))
	}
	return strings.Join(counts, ", ")
}

// Fullness returns, for example, "61k of 200k tokens (31%)".
func Fullness(st schema.SessionStatus) string {
	switch {
	case st.InputTokens == 0:
		return "no request measured yet"
	case st.ContextTokens == 0:
		return format.Tokens(st.InputTokens) + " tokens of an unknown window"
	}
	return fmt.Sprintf("%s of %s tokens (%s)", format.Tokens(st.InputTokens), format.Tokens(st.ContextTokens), format.Percent(st.Pressure))
}

// CacheHits says how much of the prompts came from the provider's cache.
func CacheHits(st schema.SessionStatus) string {
	if st.CacheRead+st.CacheWrite+st.CacheFresh == 0 {
		return "nothing reported yet"
	}
	return fmt.Sprintf("%s: %s read, %s written, %s fresh", HitRate(st),
		format.Tokens(st.CacheRead), format.Tokens(st.CacheWrite), format.Tokens(st.CacheFresh))
}

// HitRate returns the share of the prompts that came from the cache, or "-".
func HitRate(st schema.SessionStatus) string {
	if st.CacheRead+st.CacheWrite+st.CacheFresh == 0 {
		return "-"
	}
	return format.Percent(st.CacheHitRate)
}

// Saved says how much more the session would have cost if nothing had been dropped.
func Saved(st schema.SessionStatus) string {
	switch {
	case st.Saved != nil:
	case st.NextBust != nil && st.NextBust.Cost != nil: // the model has a known price
		return "not measured yet"
	default:
		return "unknown: the harness names no price, or nothing was measured yet"
	}
	requests := format.Count(st.Saved.Passes, "request")
	if st.Saved.Money < 0 {
		text := fmt.Sprintf("nothing yet: %s cost %s more than if nothing had been dropped", requests, format.AboutDollars(-st.Saved.Money))
		if st.Saved.Historian >= 0.01 {
			text += ", with " + format.Dollars(st.Saved.Historian) + " for the historian"
		}
		return text
	}
	return fmt.Sprintf("%s in %s, against dropping nothing until the window is full", format.AboutDollars(st.Saved.Money), requests)
}

func spendingOf(st schema.SessionStatus) string {
	return format.Spending(string(st.Spending), st.Saved.RemovedEarly(), format.Carry(st.Carried.Value()))
}

// Dropped says how much was dropped, and which messages are summarised.
func Dropped(st schema.SessionStatus) string {
	text := "nothing of " + format.Count(st.Units, "piece")
	if st.Dropped > 0 {
		text = fmt.Sprintf("%s tokens, %d of %s", format.Tokens(st.Tokens.Dropped), st.Dropped, format.Count(st.Units, "piece"))
	}
	if h := st.Head; h != nil && h.Through > 0 {
		text += fmt.Sprintf("; messages 1-%d are summarised", h.Through)
	}
	return text
}

// Recalled says how many lines from earlier messages the model got, and on how many of them it acted.
func Recalled(r *schema.Recalled) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s from earlier messages, %d followed, %s tokens", format.Count(r.Lines, "line"), r.Acted, format.Tokens(r.Tokens))
}

// Regret says how much of the removed content the model soon read again, with the rules and causes of the
// removals, or "".
func Regret(all []schema.Removal, cost float64) string {
	if len(all) == 0 {
		return ""
	}
	sum := schema.SumOf(all)
	text, between := format.Regret(sum.Reread, sum.Tokens, cost), ": "
	for _, r := range all {
		if r.Reread > 0 {
			text += fmt.Sprintf("%s%s (%s) %s of %s", between, RuleName(r.Rule), format.Cause(r.Cause), format.Tokens(r.Reread), format.Tokens(r.Tokens))
			between = ", "
		}
	}
	return text
}

func windowOf(st schema.SessionStatus, now time.Time) string {
	size := format.Tokens(st.ContextTokens)
	when := ""
	if st.LimitAt > 0 {
		when = " " + format.AgeOf(st.LimitAt, now) + " ago"
	}
	switch {
	case st.ContextTokens == 0 && st.LimitSource == schema.LimitDefault:
		return "unknown to the harness's catalogue"
	case st.ContextTokens == 0:
		return "unknown"
	case st.LimitSource == schema.LimitOverflow:
		return size + ", learned from a refused prompt" + when
	case st.LimitSource == schema.LimitUsage:
		return "at least " + size + ", as a prompt of that size was accepted" + when
	case st.LimitSource == schema.LimitCatalogue:
		return size + ", by the harness's catalogue"
	case st.LimitSource == schema.LimitConfig:
		return size + ", as configured"
	}
	return size
}

// cacheLifeOf returns how long the host expects an unused prefix to stay cached, with the reason. For a session
// without a model, and for an older host that does not report the life, it returns "".
func cacheLifeOf(st schema.SessionStatus) string {
	if st.CacheLifeReason == "" {
		return ""
	}
	return format.Span(time.Duration(st.CacheLifeMS)*time.Millisecond) + " (" + format.Clean(st.CacheLifeReason) + ")"
}

func priceOf(p *schema.PricedPass) string {
	if p == nil {
		return "none weighed yet"
	}
	text := Price(p.Price)
	if !p.Bust {
		return "waits: " + text
	}
	return text
}

func thinkingOf(st schema.SessionStatus) string {
	switch {
	case !st.BindsThinking:
		return ""
	case st.LostThinkingBlocks == 0:
		return "bound to the prompt; all of it still valid"
	}
	return fmt.Sprintf("bound to the prompt; busts have cost %s, about %s", format.Count(st.LostThinkingBlocks, "block"), format.Tokens(st.LostThinkingTokens))
}

func lastOf(st schema.SessionStatus, now time.Time) string {
	if st.Passes == 0 {
		return "none yet"
	}
	text := format.AgeOf(st.LastPassAt, now) + " ago, no bust"
	if st.LastPassBust {
		text = format.AgeOf(st.LastPassAt, now) + " ago, bust"
	}
	if st.LastCause != "" {
		text += " (" + format.Cause(st.LastCause) + ")"
	}
	if st.LastPassMS > 0 {
		text += fmt.Sprintf(", took %.1f ms", st.LastPassMS)
	}
	text += ", " + format.Count(st.Messages, "message")
	if st.SizeTokens > 0 {
		text += "; expected a prompt of " + format.Tokens(st.SizeTokens)
	}
	if st.GoalTokens > 0 {
		text += ", wanted " + format.Tokens(st.GoalTokens)
	}
	return text
}
