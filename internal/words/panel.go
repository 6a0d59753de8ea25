package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// Panel describes a session for the harness's own screen. `problems` lists the problems of the host and of the
// session's directory.
func Panel(st schema.SessionStatus, problems []string, now time.Time) *schema.Panel {
	p := &schema.Panel{Size: Fullness(st), Parts: partsOf(st), Facts: []schema.PanelFact{}, Window: int64(max(st.ContextTokens, st.InputTokens))}
	if n := st.NextBust; n != nil {
		p.Bust = int64(n.At)
	}
	add := func(label, tone, text string) {
		if text != "" {
			p.Facts = append(p.Facts, schema.PanelFact{Label: label, Text: text, Tone: tone})
		}
	}
	faults := faultsOf(st, func(ms int64) string { return "at " + clockOf(ms, now) })
	for _, text := range faults {
		add("fault", "alarm", text)
	}
	for _, text := range problems {
		add("problem", "notice", format.Clean(text))
	}
	add("cache hits", "", shareOf(st))
	add("last bust", "", lastBustAt(st.LastBust, now))
	add("next bust", "", dueOf(st))
	add("historian", "work", runOf(st.History, now))
	add("dreamer", "work", dreamingOf(st.Dream, now))
	add("sidekick", "work", sidekickOf(st.Sidekick))
	add("summaries", "", keptOf(st.History))
	add("taken out", "", takenOf(st))
	add("memories", "", memoriesOf(st))
	add("saved", "", moneyOf(st.Saved))
	add("spent", "", Spent(st.Saved))

	p.Lines = linesOf(briefOf(st, len(faults)+len(problems)))
	for _, line := range p.Lines {
		if p.Line = "magicctx " + line; format.Columns(p.Line) <= maxLine {
			break
		}
	}
	return p
}

const (
	maxLine = 80
	// fullView is the command that shows everything that does not fit into a line.
	fullView = "/ctx-status"
)

var shorter = strings.NewReplacer(" taken out", " out", "spent ", "", "less than ", "<")

// linesOf returns several versions of one line, from the longest to the shortest, so that a screen can choose the
// longest that fits. The first version joins all texts and ends with fullView. The next versions leave out more and
// more texts, until only the first `vital` texts are left. The versions after them have shorter words, and leave out
// texts until only the first `least` are left. The last versions have no fullView. An ellipsis shows that something is
// missing.
func linesOf(texts []string, vital, least int) (lines []string) {
	short := slices.Clone(texts[:vital])
	short[0], _, _ = strings.Cut(short[0], " of ")
	for i, text := range short {
		short[i] = shorter.Replace(text)
	}
	add := func(shown []string, end string) {
		if len(shown) < len(texts) || end == "" {
			end = " … " + end
		} else {
			end = " · " + end
		}
		lines = append(lines, strings.TrimSpace(strings.Join(shown, " · ")+end))
	}
	for n := len(texts); n >= vital; n-- {
		add(texts[:n], fullView)
	}
	for n := vital; n >= least; n-- {
		add(short[:n], fullView)
	}
	for n := vital; n > 0; n-- {
		add(short[:n], "")
	}
	return lines
}

// briefOf returns short texts about a session, the most important first. The first `vital` texts say how full the
// window is, what was taken out, and what the session has cost. A line that ends with fullView must keep at least the
// first `least` texts. For example, if there are problems, it must keep their number, because fullView explains them.
func briefOf(st schema.SessionStatus, problems int) (all []string, vital, least int) {
	full := format.Percent(st.Pressure)
	switch {
	case st.ContextTokens > 0:
		full += " of " + format.Tokens(st.ContextTokens)
	case st.InputTokens > 0: // the window is unknown
		full = format.Tokens(st.InputTokens) + " tokens"
	}
	all = []string{full}
	add := func(isKnown bool, text string, args ...any) {
		if isKnown {
			all = append(all, fmt.Sprintf(text, args...))
		}
	}
	add(problems > 0, "%s", format.Count(problems, "problem"))
	saved, summarised := cmp.Or(st.Saved, &schema.Saving{}), cmp.Or(st.Head, &schema.HeadStatus{}).Through
	add(st.Dropped > 0, "%d taken out", st.Dropped)
	add(st.Dropped == 0 && summarised > 0, "1-%d summarised", summarised)
	add(saved.Spent > 0, "spent %s", format.Dollars(saved.Spent))
	if vital, least = len(all), len(all); problems > 0 {
		least = 2
	}
	add(st.Dropped > 0 && summarised > 0, "1-%d summarised", summarised)
	add(saved.Money > 0, "saved %s", format.Dollars(saved.Money))
	add(st.History != nil && st.History.Running != nil, "summarising")
	if b := st.LastBust; b != nil {
		all = append(all, "last bust: "+format.Clean(b.Words))
	}
	add(st.CacheHitRate > 0, "cache %s", format.Percent(st.CacheHitRate))
	add(st.Queued > 0, "%d to drop", st.Queued)
	return all, vital, least
}

// partsOf splits a prompt by its sources. Like all other sizes, the sizes of the head's sections are in the provider's
// tokens.
func partsOf(st schema.SessionStatus) []schema.PanelPart {
	t, documents, memories := st.Tokens, int64(0), int64(0)
	if st.Head != nil {
		sections := scaledTo(t.Head, *st.Head).Sections
		documents, memories = min(t.Head, int64(sections.Docs)), int64(sections.Memories)
		memories = min(t.Head-documents, memories)
	}
	parts := []schema.PanelPart{}
	for _, part := range []schema.PanelPart{
		{Source: "system", Name: "system prompt", Tokens: t.System},
		{Source: "definitions", Name: "tool definitions", Tokens: t.ToolDefinitions},
		{Source: "documents", Name: "project documents", Tokens: documents},
		{Source: "summaries", Name: "summaries", Tokens: t.Head - documents - memories},
		{Source: "memories", Name: "memories", Tokens: memories},
		{Source: "conversation", Name: "conversation", Tokens: t.Text + t.Files},
		{Source: "tools", Name: "tool calls", Tokens: t.ToolInputs + t.ToolResults},
		{Source: "thinking", Name: "thinking", Tokens: t.Thinking},
	} {
		if part.Tokens > 0 {
			part.Size = format.Tokens(part.Tokens)
			parts = append(parts, part)
		}
	}
	return parts
}

// clockOf returns a time of the day, for example "14:32", or the date of another day, for example "25 Nov".
func clockOf(ms int64, now time.Time) string {
	at := time.UnixMilli(ms).In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2 Jan")
}

func shareOf(st schema.SessionStatus) string {
	if rate := HitRate(st); rate != "-" {
		return rate + " of all prompts"
	}
	return ""
}

func lastBustAt(b *schema.LastBust, now time.Time) string {
	if b == nil {
		return "none yet"
	}
	text := clockOf(b.At, now) + ", " + format.Clean(b.Words)
	if b.Removed > 0 {
		text += "; freed " + format.Tokens(b.Removed)
	}
	if b.Cost != nil {
		text += ", cost " + strings.TrimPrefix(format.AboutDollars(*b.Cost), "about ")
	}
	return text
}

func dueOf(st schema.SessionStatus) string {
	n := st.NextBust
	if n == nil {
		return ""
	}
	text := "at " + format.Tokens(n.At) + " tokens"
	switch {
	case n.IsAsked:
		text = "with the next message: you asked for it"
	case n.Waits, isDue(st) && st.LastPrice != nil && !st.LastPrice.Bust:
		text = "as soon as it pays"
	case isDue(st) && waitsForTheNewest(st):
		text = newestMarked
	case isDue(st):
		text = "due"
	}
	return text + markedOf(st, "; ")
}

func runOf(h *schema.HistoryStatus, now time.Time) string {
	if h == nil || h.Running == nil {
		return ""
	}
	return workOf(h.Running) + " since " + clockOf(h.Running.Since, now)
}

func dreamingOf(d *schema.DreamStatus, now time.Time) string {
	if d == nil || d.Task == "" || d.Waits {
		return ""
	}
	return fmt.Sprintf("task %d of %d (%s) since %s", d.Number, d.Of, format.Clean(d.Task), clockOf(d.Since, now))
}

func keptOf(h *schema.HistoryStatus) string {
	if h == nil || h.Compartments == 0 {
		return ""
	}
	return fmt.Sprintf("%d for %s tokens", h.Compartments, format.Tokens(h.RawTokens))
}

// takenOf counts the pieces that were taken out of the prompt, and names the command that brings one back.
func takenOf(st schema.SessionStatus) string {
	if st.Dropped == 0 {
		return ""
	}
	return format.Count(st.Dropped, "piece") + "; /ctx-menu"
}

// Contents splits a prompt by source, for example "system prompt 5k, conversation 21k".
func Contents(st schema.SessionStatus) string {
	var all []string
	for _, part := range partsOf(st) {
		all = append(all, part.Name+" "+part.Size)
	}
	return strings.Join(all, ", ")
}

func memoriesOf(st schema.SessionStatus) string {
	if st.Memories+st.Notes == 0 {
		return ""
	}
	text := fmt.Sprint(st.Memories)
	if st.Notes > 0 {
		text += ", " + format.Count(st.Notes, "note")
	}
	return text
}

func moneyOf(s *schema.Saving) string {
	switch {
	case s == nil:
		return ""
	case s.Money == 0:
		return "nothing yet"
	case s.Money < 0:
		return "nothing yet: " + format.Dollars(-s.Money) + " more so far"
	}
	return format.AboutDollars(s.Money)
}
