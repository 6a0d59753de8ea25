package status

import (
	"cmp"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/bug"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// tokensBySource splits the reported size of the prompt by source. The provider reports only the whole size, so the
// host counts the parts. Gauge.Base is the size of the part before the messages. The messages are scaled so that all
// parts add up to the reported size. The host cannot count thinking, so `thinking` is an estimate.
func tokensBySource(s store.SessionReport, thinking int64) schema.TokensBySource {
	t := schema.TokensBySource{
		System: int64(s.System.SystemTokens), Thinking: thinking, Dropped: s.DroppedTokens,
		Text: int64(s.Tail.Text), Files: int64(s.Tail.Files), ToolInputs: int64(s.Tail.Inputs), ToolResults: int64(s.Tail.Results),
	}
	if s.Head != nil {
		t.Head = int64(session.HeadFromRow(s.Head).Tokens())
	}
	prompt := int64(s.PromptTokens)
	if prompt == 0 {
		return t
	}
	messages := []*int64{&t.Head, &t.Text, &t.Files, &t.ToolInputs, &t.ToolResults, &t.Thinking}
	counted := int64(0)
	for _, part := range messages {
		counted += *part
	}
	base := int64(s.Gauge.Base)
	// Right after a bust, the newest reported prompt still contains the dropped content. So its size cannot be compared
	// with the counted parts.
	isMeasured := s.Last == nil || !s.Last.Bust || s.Last.Usage != nil
	if base == 0 || base > prompt || counted == 0 || isMeasured && !isSameContent(prompt-base, counted) {
		base = max(min(t.System, prompt), prompt-counted)
	}
	t.System = min(t.System, base)
	t.ToolDefinitions = base - t.System
	scale(messages, counted, prompt-base)
	return t
}

// The counts of two models' tokenizers differ by at most a factor of two. So two counts within this factor can
// belong to the same content.
func isSameContent(a, b int64) bool { return a <= 2*b && b <= 2*a }

// scale scales the parts so that their total changes from `sum` to `goal`. Rounding may leave a remainder, which is
// added to the largest part.
func scale(parts []*int64, sum, goal int64) {
	largest, left := parts[0], goal
	for _, part := range parts {
		if sum > 0 {
			*part = *part * goal / sum
		}
		left -= *part
		if *part > *largest {
			largest = part
		}
	}
	*largest += left
}

// nextBust describes the next bust under pressure. If the newest pass decided against a bust because of its price,
// nextBust returns the figures of that pass. Otherwise it returns upper bounds: it assumes that everything after the
// prefix can be dropped. It has to estimate the low mark, because a pass chooses the low mark only when it busts.
func (sb *Statuses) nextBust(st schema.SessionStatus, s store.SessionReport, facts model.Facts) *schema.NextBust {
	if st.ContextTokens == 0 || st.Threshold <= 0 || st.Passes == 0 {
		return nil
	}
	base := int(st.Tokens.System + st.Tokens.ToolDefinitions)
	high := int(st.Threshold * float64(st.ContextTokens))
	down := min(high, int(sb.Clients.KnownConfig(st.Harness, st.Directory).LowMarkPercentage/100*float64(st.ContextTokens)))
	if down <= 0 {
		growth := max(1, (st.InputTokens+int(st.Tokens.Dropped)-base)/st.Passes)
		down = pipeline.EstimateLowMark(high, min(base, high), growth, facts.Price)
	}
	n := &schema.NextBust{IsAsked: s.ExplicitFlush, At: high, Down: down, Freed: high - down, Resent: max(0, down-base)}
	if p := s.Priced; p != nil && p.Pass == s.Passes && p.Cause == string(pipeline.CausePrice) {
		n.Waits, n.Freed, n.Resent = true, p.Price.Removed, p.Price.Resent
	}
	n.Cost = facts.Rewriting(n.Resent)
	return n
}

// lastBust returns the last bust with its cost. If the prefix was already gone, the bust has cost nothing.
func lastBust(b *store.BustRow, facts model.Facts) *schema.LastBust {
	if b == nil {
		return nil
	}
	cause := cmp.Or(b.Cause, "unknown")
	last := &schema.LastBust{Pass: b.Pass, At: b.At, Cause: cause, Words: format.Cause(cause), Removed: b.Removed, Resent: b.Resent}
	if !words.KnowsOldSize(b.PassCause) {
		last.Removed = 0
	}
	if b.Resent > 0 && !pipeline.Cause(b.PassCause).PrefixWasGone() {
		last.Cost = facts.Rewriting(b.Resent)
	}
	return last
}

func hitRate(s store.SessionRow) float64 {
	all := s.InputTokens + s.CacheRead + s.CacheWrite
	if all == 0 {
		return 0
	}
	return float64(s.CacheRead) / float64(all)
}

// threshold returns the pressure from which a pass of the session may bust. A status must not open a project's
// files, so threshold uses the configuration in memory.
func (sb *Statuses) threshold(st schema.SessionStatus) float64 {
	cfg := sb.Clients.KnownConfig(st.Harness, st.Directory)
	percent, _ := config.Threshold(cfg, st.Model.Provider, st.Model.ID, st.ContextTokens)
	return percent / 100
}

// warnings lists the problems that need a person's attention, worst first.
func (sb *Statuses) warnings() []schema.Warning {
	if err := sb.Store.InPlace(); err != nil { // only this check notices a deleted database if no session is active
		sb.Guard.Wrote(err)
	}
	var all []schema.Warning
	if reason := sb.Guard.Trouble(); reason != "" {
		all = append(all, schema.Warning{Source: "store", Message: "nothing can be stored, so prompts go out unchanged: " + reason})
	}
	if moved := sb.Store.Recovered(); moved != "" {
		all = append(all, schema.Warning{Source: "recovery", Message: "the database was damaged; it was moved to " + moved + " and an empty one took its place"})
	}
	if reason := sb.Markers(); reason != "" {
		all = append(all, schema.Warning{Source: "markers", Message: reason})
	}
	if n := bug.Count(); n > 0 {
		all = append(all, schema.Warning{Source: "bug", Message: fmt.Sprintf("%d broken invariants since the host started; the log has them", n)})
	}
	return append(all, sb.Clients.Warnings()...)
}
