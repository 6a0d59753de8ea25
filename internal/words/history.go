package words

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// Below this fidelity, summaries have lost more than they hold.
const poorFidelity = 0.5

// Faults returns the reasons why the historian does not summarise the history as it should, as texts for the user.
func Faults(st schema.SessionStatus, now time.Time) []string {
	return faultsOf(st, func(ms int64) string { return format.AgeOf(ms, now) + " ago" })
}

// when says when something happened, for example "5m ago".
func faultsOf(st schema.SessionStatus, when func(ms int64) string) []string {
	h := st.History
	if h == nil {
		return nil
	}
	var faults []string
	if h.IsOverdue {
		faults = append(faults, fmt.Sprintf("history has waited for %s to be summarised", format.Count(h.Waited, "request")))
	}
	if h.Compartments > 0 && h.Fidelity < poorFidelity {
		faults = append(faults, fmt.Sprintf("the summaries hold %s of the details: name a better model in historian.model, then /ctx-recomp makes them again", format.Percent(h.Fidelity)))
	}
	if r := h.Stopped; r != nil {
		faults = append(faults, fmt.Sprintf("the %s of messages %d-%d stopped %s: %s", errandNames[r.Kind], r.Start, r.End, when(r.At), format.Clean(r.Reason)))
	}
	if h.Failures > 0 {
		text := fmt.Sprintf("the historian has failed %s", format.InARow(h.Failures, when(h.FailedAt)))
		if h.Stopped == nil || h.Stopped.Reason != h.LastError { // otherwise the previous line gives the reason
			text += ": " + format.Clean(h.LastError)
		}
		faults = append(faults, text+". "+retryOf(h.RetryPass-st.Passes))
	}
	return faults
}

// retryOf says when a failing historian asks a model again. It also tells the user that the host will not wait for that
// if the window is full: then fixed rules write the summaries ("extracts").
func retryOf(passes int) string {
	when := "with the next request that needs it"
	if passes > 0 {
		when = "in " + format.Count(passes, "request")
	}
	return "A model is asked again " + when + "; a full window gets extracts without a model"
}

func historyOf(st schema.SessionStatus) string {
	if st.History == nil {
		return ""
	}
	text := summariesOf(st.History)
	if st.History.Compartments > 0 && len(Faults(st, time.Time{})) == 0 {
		return "healthy: " + text
	}
	return text
}

func summariesOf(h *schema.HistoryStatus) string {
	if h.Compartments == 0 {
		return "nothing is summarised yet"
	}
	text := fmt.Sprintf("%s for %s tokens of messages", format.Count(h.Compartments, "summary"), format.Tokens(h.RawTokens))
	if h.Extractive > 0 {
		text += fmt.Sprintf(", %d without a model", h.Extractive)
	}
	text += ", fidelity " + format.Percent(h.Fidelity)
	if w := h.Weakest; w != nil && h.Compartments > 1 {
		text += fmt.Sprintf(" (lowest %s, messages %d-%d)", format.Percent(w.Fidelity), w.Start, w.End)
	}
	return text
}

// HistoryLines describes the summarised history and the head for a replay, without the time of day.
func HistoryLines(head *schema.HeadStatus, h *schema.HistoryStatus) []string {
	var lines []string
	if h != nil {
		lines = append(lines, summariesOf(h))
		if h.Failures > 0 {
			lines = append(lines, fmt.Sprintf("the historian has failed %s: %s", format.InARow(h.Failures, ""), format.Clean(h.LastError)))
		}
		if h.IsOverdue {
			lines = append(lines, fmt.Sprintf("it has waited for %s to be summarised", format.Count(h.Waited, "request")))
		}
	}
	if head != nil {
		lines = append(lines, standsFor(head), HeadSizes(*head))
	}
	return lines
}

func standsFor(h *schema.HeadStatus) string {
	if h.Through == 0 {
		return fmt.Sprintf("no message is summarised yet; what comes before the messages stands in the prompt as %s tokens", format.Tokens(h.Baseline+h.Delta))
	}
	return fmt.Sprintf("messages 1-%d stand in the prompt as %s tokens", h.Through, format.Tokens(h.Baseline+h.Delta))
}

// foldReasons has a text for each reason of a fold. In texts for users, the baseline is "written" and the delta is
// "added".
var foldReasons = map[string]string{
	"first-head":          "for the first time",
	"reverted":            "because messages were taken back",
	"refold":              "because the summaries were made anew",
	"memory-updates":      "because many memories had changed",
	"delta-over-budget":   "because too much had been added",
	"delta-over-baseline": "because as much had been added as was written before",
}

// FoldReason says in plain words why the head was folded. reason may be any text.
func FoldReason(reason string) string {
	if text := cmp.Or(foldReasons[reason], reasons[reason]); text != "" {
		return text
	}
	return "cause: " + format.Clean(reason)
}

// headOf describes the head. `measured` is its size in the provider's tokens, or 0 if that is unknown.
func headOf(counted *schema.HeadStatus, measured int64, now time.Time) string {
	if counted == nil {
		return ""
	}
	h := scaledTo(measured, *counted)
	text := strings.Replace(standsFor(&h), "stand in the prompt ", "", 1)
	text += fmt.Sprintf(": %s; last written %s ago %s", HeadSizes(h), format.AgeOf(h.FoldedAt, now), FoldReason(h.FoldReason))
	var folds []string
	for _, f := range h.Folds {
		folds = append(folds, fmt.Sprintf("%s %d", format.Cause(f.Cause), f.Count))
	}
	if len(folds) > 0 {
		text += "; in all: " + strings.Join(folds, ", ")
	}
	return text
}

// scaledTo scales the sizes of the head so that they add up to `measured`. The status bar shows the provider's count,
// which differs from the host's count.
func scaledTo(measured int64, h schema.HeadStatus) schema.HeadStatus {
	counted := int64(h.Baseline + h.Delta)
	if measured <= 0 || counted <= 0 {
		return h
	}
	for _, size := range []*int{&h.Baseline, &h.Delta, &h.Sections.Compartments, &h.Sections.Memories, &h.Sections.Docs, &h.Sections.KeyFiles} {
		*size = int(int64(*size) * measured / counted)
	}
	h.Baseline = int(measured) - h.Delta // with the remainder of the rounding
	return h
}

// HeadSizes returns, for example, "9k written (summaries 6k, project documents 1.2k), 700 added since".
func HeadSizes(h schema.HeadStatus) string {
	var sections []string
	for _, part := range []struct {
		name   string
		tokens int
	}{
		{"summaries", h.Sections.Compartments},
		{"memories", h.Sections.Memories},
		{"project documents", h.Sections.Docs},
		{"key files", h.Sections.KeyFiles},
	} {
		if part.tokens > 0 {
			sections = append(sections, part.name+" "+format.Tokens(part.tokens))
		}
	}
	text := format.Tokens(h.Baseline) + " written"
	if len(sections) > 0 {
		text += " (" + strings.Join(sections, ", ") + ")"
	}
	if h.Delta == 0 {
		return text + ", nothing added since"
	}
	return text + ", " + format.Tokens(h.Delta) + " added since"
}

func historianOf(h *schema.HistoryStatus, now time.Time) string {
	if h == nil {
		return ""
	}
	var parts []string
	if r := h.Running; r != nil {
		parts = append(parts, workOf(r)+" for "+format.AgeOf(r.Since, now))
	}
	if r := h.Unfinished; r != nil {
		command := "/ctx-recomp"
		if r.Kind == "partial" {
			command += fmt.Sprintf(" %d-%d", r.Start, r.End)
		}
		parts = append(parts, fmt.Sprintf("an unfinished recomp of %s, which %s goes on with", format.Progress(r.Start, r.End, r.Done), command))
	}
	if h.Publishes > 0 {
		published := fmt.Sprintf("summarised in %d of %s", h.Publishes, format.Count(h.Runs, "run"))
		if h.Extracted > 0 {
			published += fmt.Sprintf(", %d without a model", h.Extracted)
		}
		parts = append(parts, published)
	} else if h.Runs > 0 {
		parts = append(parts, "nothing summarised in "+format.Count(h.Runs, "run"))
	}
	if p := h.LastPublish; p != nil {
		parts = append(parts, fmt.Sprintf("last %s ago: %s", format.AgeOf(p.At, now), Published(*p)))
	}
	if read := h.Usage.Input + h.Usage.CacheRead + h.Usage.CacheWrite; read > 0 {
		parts = append(parts, fmt.Sprintf("models read %s and wrote %s tokens", format.Tokens(read), format.Tokens(h.Usage.Output)))
	}
	return strings.Join(parts, "; ")
}

// budgetsOf says which agents ask no model because of their budget, or returns "".
func budgetsOf(st schema.SessionStatus, now time.Time) string {
	var stops []string
	if h := st.History; h != nil && h.Budget != nil {
		stops = append(stops, budgetOf("historian", *h.Budget, now))
	}
	if d := st.Dream; d != nil && d.Budget != nil {
		stops = append(stops, budgetOf("dreamer", *d.Budget, now))
	}
	return strings.Join(stops, ". ")
}

// budgetOf says why an agent asks no model, and when it continues. For the historian, it adds that fixed rules write
// the summaries ("extracts") if the window becomes full before then.
func budgetOf(agent string, b schema.BudgetStop, now time.Time) string {
	agents := "all agents"
	switch b.Agents {
	case "historian":
		agents = "the historian"
	case "others":
		agents = "all agents but the historian"
	}
	extracts := ""
	if agent == "historian" {
		extracts = ", and a full window gets extracts without a model"
	}
	size, spent, needs := format.Dollars(b.Money), format.Dollars(b.SpentMoney), format.Dollars(b.NeedsMoney)
	isTooSmall := b.Money == 0 || b.NeedsMoney > b.Money
	if b.SpentMoney+b.NeedsMoney <= b.Money {
		size, spent, needs = format.Tokens(b.Tokens)+" tokens", format.Tokens(b.SpentTokens), format.Tokens(b.NeedsTokens)
		isTooSmall = b.NeedsTokens > b.Tokens
	}
	text := fmt.Sprintf("%s a day for %s, %s spent or reserved; the next call may need %s. ", size, agents, spent, needs)
	if isTooSmall {
		return text + "So the " + agent + " asks no model until you raise it" + extracts
	}
	return text + fmt.Sprintf("The %s asks a model again in %s%s", agent, format.Age(time.UnixMilli(b.Until).Sub(now)), strings.Replace(extracts, ", and", "; until then,", 1))
}

// dreamOf describes the dreamer's run, or why there is none, or returns "".
func dreamOf(d *schema.DreamStatus, now time.Time) string {
	switch {
	case d == nil:
		return ""
	case d.Failures > 0:
		return fmt.Sprintf("%s ended the schedule; it goes on in %s, or when /ctx-dream succeeds. The last one: %s",
			format.Count(d.Failures, "equal failure"), format.Age(time.UnixMilli(d.Until).Sub(now)), format.Clean(d.Failure))
	case d.Task == "":
		return ""
	}
	text := fmt.Sprintf("task %d of %d (%s), for %s, %s tokens so far", d.Number, d.Of, format.Clean(d.Task), format.Age(now.Sub(time.UnixMilli(d.Since))), format.Tokens(d.Tokens))
	if d.Waits {
		text += "; interrupted, goes on with the schedule or /ctx-dream"
	}
	return text
}

func sidekickOf(s *schema.SidekickStatus) string {
	switch {
	case s == nil:
		return ""
	case s.Results == 0:
		return "chooses what to search for"
	}
	return fmt.Sprintf("chooses from %s, %s tokens so far", format.Count(s.Results, "search result"), format.Tokens(s.Tokens))
}

var errandNames = map[string]string{"recomp": "recomp", "partial": "recomp", "wrapup": "wrap-up"}

func workOf(r *schema.HistoryRun) string {
	if r.End == 0 {
		return "at work"
	}
	return fmt.Sprintf("%s of %s,", errandNames[r.Kind], format.Progress(r.Start, r.End, r.Done))
}

// Published describes a publication, for example "messages 61-80 as 1 summary by small, fidelity 88%".
func Published(p schema.HistoryPublish) string {
	by := "by extraction"
	if p.MadeBy != "extractive" {
		by = "by " + cmp.Or(format.Clean(path.Base(p.Model)), "a model")
	}
	switch p.MadeBy {
	case "repaired":
		by += " at its second try"
	case "fallback":
		by += " in place of another model"
	}
	text := fmt.Sprintf("messages %d-%d as %s %s, fidelity %s", p.Start, p.End, format.Count(p.Compartments, "summary"), by, format.Percent(p.Fidelity))
	if p.UnconfirmedQuotes > 0 {
		text += fmt.Sprintf(", %s left out that you did not type", format.Count(p.UnconfirmedQuotes, "quote"))
	}
	if p.UnconfirmedFacts > 0 {
		text += fmt.Sprintf(", %s left out that the summarised messages do not support", format.Count(p.UnconfirmedFacts, "fact"))
	}
	return text
}
