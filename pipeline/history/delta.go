package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// EmptyDelta is the delta if nothing has changed since the fold. It is not "": providers refuse empty texts.
const EmptyDelta = "<session-history-since>Nothing has been added to the summaries above.</session-history-since>"

const updatesNotice = "These memories have changed since the list above was written. Where the two differ, these lines are right."

// A DeltaInput holds the changes since the fold. MemoryBudget and HistoryBudget are the tokens that memories and
// compartments may take in the baseline. 0 means the default.
type DeltaInput struct {
	// Compartments holds the compartments published since the fold, ordered by Seq.
	Compartments []chronicle.Compartment
	Updates      []chronicle.MemoryChange
	// Shown are the memories of the baseline (BaselineText.Memories).
	Shown []int64
	// Memories holds the memories that were stored or restored since the fold and that the baseline does not show.
	Memories []chronicle.Memory

	// Promises are the project's open and closed promises. Session is the id of this session.
	Promises []chronicle.Note
	Session  string
	// StaleKeyFiles is the result of the function StaleKeyFiles.
	StaleKeyFiles []string

	MemoryBudget, HistoryBudget int

	// FoldedAt is the time of the fold (Unix ms). The delta depends on this time and not on the time of the pass.
	// Otherwise, two passes could render different deltas, and the provider's cached prefix would be lost.
	FoldedAt int64
	// CountText returns the number of tokens in a text.
	CountText func(string) int
}

type DeltaText struct {
	Text   string
	Tokens int
	// MemoryUpdates is the number of memories of the baseline that have changed.
	MemoryUpdates int
}

// Delta renders the message after the acknowledgement. Only a pass that may bust calls it. New compartments get tier 1.
func Delta(in DeltaInput) DeltaText {
	in.MemoryBudget = deltaBudget(cmp.Or(in.MemoryBudget, DefaultMemoryBudget))

	updates := coalesce(in.Updates, in.Shown)
	ofProject, ofUser := split(in.Memories)
	var blocks []string
	for _, block := range []string{
		updatesBlock(updates, in.Shown),
		newCompartmentsBlock(in.Compartments),
		userRules("new-user-rules", in.Compartments, slices.Repeat([]int{1}, len(in.Compartments)), cmp.Or(in.HistoryBudget, DefaultHistoryBudget), in.CountText),
		memoryBlock("new-memories", memoryNotice, selectMemories(ofProject, in.FoldedAt, in.MemoryBudget, in.CountText)),
		memoryBlock("new-user-memories", userNotice, selectMemories(ofUser, in.FoldedAt, deltaBudget(userBudget), in.CountText)),
		keyFileUpdates(in.StaleKeyFiles),
		itemUpdates(ItemsSince(in.Promises, in.FoldedAt), in.Session, in.CountText),
	} {
		if block != "" {
			blocks = append(blocks, block)
		}
	}
	text := EmptyDelta
	if len(blocks) > 0 {
		text = element("session-history-since", blocks...)
	}
	return DeltaText{Text: text, Tokens: in.CountText(text), MemoryUpdates: len(updates)}
}

func updatesBlock(updates []chronicle.MemoryChange, shown []int64) string {
	if len(updates) == 0 {
		return ""
	}
	lines := []string{updatesNotice}
	for _, u := range updates {
		lines = append(lines, changeLine(u, shown))
	}
	return element("memory-updates", lines...)
}

func newCompartmentsBlock(compartments []chronicle.Compartment) string {
	if len(compartments) == 0 {
		return ""
	}
	rendered := make([]string, len(compartments))
	for i := range compartments {
		rendered[i] = RenderCompartment(&compartments[i], 1)
	}
	return element("new-compartments", strings.Join(rendered, "\n\n"))
}

// A FoldReason says why the delta has outgrown its baseline.
type FoldReason string

const (
	// ManyMemoryUpdates: more than 40 memories of the baseline have changed.
	ManyMemoryUpdates FoldReason = "memory-updates"
	// DeltaOverBudget: the delta is larger than a fifth of the history budget.
	DeltaOverBudget FoldReason = "delta-over-budget"
	// DeltaOverBaseline: the delta is larger than 15 % of a baseline that has at least 500 tokens.
	DeltaOverBaseline FoldReason = "delta-over-baseline"
)

const (
	maxMemoryUpdates = 40
	deltaOfBudget    = 0.20
	deltaOfBaseline  = 0.15
	leastBaseline    = 500
)

// NeedsFold reports whether the delta is so large that its content should become part of a new baseline, and why. The
// sizes are in tokens. If historyBudget is 0, the default budget applies.
func NeedsFold(delta DeltaText, baselineTokens, historyBudget int) (FoldReason, bool) {
	budget := float64(cmp.Or(historyBudget, DefaultHistoryBudget))
	size := float64(delta.Tokens)
	switch {
	case delta.MemoryUpdates > maxMemoryUpdates:
		return ManyMemoryUpdates, true
	case delta.Text == EmptyDelta:
		return "", false
	case size > deltaOfBudget*budget:
		return DeltaOverBudget, true
	case baselineTokens >= leastBaseline && size > deltaOfBaseline*float64(baselineTokens):
		return DeltaOverBaseline, true
	}
	return "", false
}
