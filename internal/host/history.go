package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/store"
)

// A chronicle holds the facts about a session's history that its passes use. It is read with the session, and
// again after each publication.
type chronicle struct {
	compartments []history.Compartment
	// withdrawn are the compartments that a revert has taken.
	withdrawn []history.Compartment
	end       store.HistoryEnd
	memories  store.ProjectMemories
	// memoryChanges is the log of the changes of the memories.
	memoryChanges []store.MemoryChange
	// headGeneration is the generation of the compartments that the head was rendered from.
	headGeneration int
	// markers are the compaction markers in the harness's own store.
	markers markers
}

// readChronicle reads the compartments of a session and the memories of its project.
func (h *Host) readChronicle(ctx context.Context, key store.Key, project string) (chronicle, error) {
	rows, end, err := h.Store.CompartmentsOf(ctx, key)
	if err != nil {
		return chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	withdrawn, err := h.Store.WithdrawnCompartments(ctx, key)
	if err != nil {
		return chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	sum, err := h.Store.History(ctx, key)
	if err != nil {
		return chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	c := chronicle{markers: readMarkers(sum), compartments: compartmentsFromRows(rows), withdrawn: compartmentsFromRows(withdrawn), end: end, headGeneration: end.Generation}
	if len(rows) > 0 {
		// The log comes first: if a memory changes in between, the next log tells the model once more.
		if c.memoryChanges, err = h.Store.MemoryChanges(ctx, project, 0); err != nil {
			return chronicle{}, err
		}
		if c.memories, err = h.Store.Memories(ctx, project, h.Clock.Now()); err != nil {
			return chronicle{}, fmt.Errorf("read the memories of %s: %w", project, err)
		}
	}
	return c, nil
}

// history returns the material for the head in this pass.
func (ps *pass) history(ctx context.Context, r pipeline.Readings) *pipeline.History {
	s := ps.s
	if s.mode().IsSubagent || len(s.chronicle.compartments)+len(s.chronicle.withdrawn) == 0 {
		return nil
	}
	share := ps.config.HistoryBudgetPercentage / 100
	budget := cmp.Or(history.HistoryBudget(r.Counting.Model.OwnTokens(r.LimitTokens), r.Threshold, share), history.DefaultHistoryBudget)
	budget = min(budget, history.SpendingBudget(ps.config.Spending))
	var docs []history.Doc
	if ps.config.ProjectDocs.Enabled {
		docs = ps.h.projectDocs(ctx, ps.params.Directory, s.key.Session)
	}
	return &pipeline.History{
		Compartments: s.chronicle.compartments, Withdrawn: s.chronicle.withdrawn, BudgetTokens: budget,
		Docs: docs, DocsTokens: max(1, int(float64(budget)*ps.config.ProjectDocs.BudgetPercentage/100)),
		Memories:     memoriesFromRows(s.chronicle.memories, ps.config.Memory.Enabled),
		Updates:      updatesFromRows(s.chronicle.memoryChanges),
		MemoryTokens: ps.config.Memory.InjectionBudgetTokens,
		Refold:       s.chronicle.headGeneration != s.chronicle.end.Generation,
	}
}

// projectDocs returns the documents of the project that the baseline shows. If they cannot be read, it
// returns none.
func (h *Host) projectDocs(ctx context.Context, directory, session string) []history.Doc {
	found, err := h.docs.Read(ctx, directory)
	if err != nil {
		h.Log.Warn("the project's documents are left out", "session", session, "error", err)
	}
	for _, err := range found.Refused {
		h.Log.Warn("a document of the project is left out", "session", session, "error", err)
	}
	docs := make([]history.Doc, len(found.Files))
	for i, d := range found.Files {
		docs[i] = history.Doc{Name: d.Name, Text: string(d.Content)}
	}
	return docs
}

// rearrange updates the store after the array has lost messages, or got them back. It runs after the pass whose
// head fits the array. It withdraws the compartments that cover a message that a revert has taken, restores the
// withdrawn ones whose messages are back, and ends the running historian if it summarises a message that is gone.
func (h *Host) rearrange(ctx context.Context, s *session) {
	kept, restored := s.pipe.Standing(s.chronicle.published())
	from := s.firstGone(kept)
	if from == 0 && len(restored) == 0 {
		return
	}
	if running := s.work.running; running != nil && from > 0 {
		running.cancel(errReverted)
	}
	ctx, cancel := h.guard.Writing(ctx)
	defer cancel()
	if err := h.storeRearranged(ctx, s, from, restored); err != nil { // the next pass tries again
		h.guard.Wrote(err)
		h.Log.Warn("summaries that do not fit the conversation stay stored", "session", s.key.Session, "error", err)
		return
	}
	if s.work.running != nil && from > 0 {
		s.work.running.isTakenBack = true
	}
	s.chronicle.compartments = append(slices.Clip(s.chronicle.compartments[:kept]), restored...)
	if again, err := h.readChronicle(ctx, s.key, s.row.Directory); err == nil {
		s.chronicle = again
	}
}

func (h *Host) storeRearranged(ctx context.Context, s *session, from int, restored []history.Compartment) error {
	end := s.chronicle.end
	if from > 0 {
		withdrawn, err := h.Store.WithdrawCompartments(ctx, s.key, from)
		if err != nil {
			return err
		}
		h.Log.Info("summaries of reverted messages are withdrawn", "session", s.key.Session, "compartments", len(withdrawn))
		if _, end, err = h.Store.CompartmentsOf(ctx, s.key); err != nil {
			return err
		}
	}
	if len(restored) == 0 {
		return nil
	}
	seqs := make([]int, len(restored))
	for i, c := range restored {
		seqs[i] = c.Seq
	}
	if err := h.Store.RestoreCompartments(ctx, s.key, end, seqs); err != nil {
		return err
	}
	h.Log.Info("summaries of messages that are back are restored", "session", s.key.Session, "compartments", len(restored))
	return nil
}

// published converts the compartments to the form of the pipeline.
func (c *chronicle) published() *pipeline.History {
	return &pipeline.History{Compartments: c.compartments, Withdrawn: c.withdrawn}
}

// firstGone returns the ordinal of the first message that a revert has taken from the compartments or from the
// run under way. If the revert has taken none, it returns 0. standing is the number of compartments that it has
// not reached.
func (s *session) firstGone(standing int) int {
	if all := s.chronicle.compartments; standing < len(all) {
		return all[standing].Start
	}
	if s.work.running != nil && !s.work.running.isTakenBack {
		return firstGone(s.pipe, s.work.running.job.Chunk.Lines)
	}
	return 0
}

// firstGone returns the ordinal of the first message such that neither it nor any later message of the run is
// left. It returns 0 if the run's last message is still there.
func firstGone(p *pipeline.Session, lines []historian.Line) (ordinal int) {
	for _, line := range slices.Backward(lines) {
		switch {
		case line.Key == "": // an unreadable message has no key, so we cannot tell
		case p.Has(line.Key):
			return ordinal
		default:
			ordinal = line.Ordinal
		}
	}
	return ordinal
}

func memoriesFromRows(p store.ProjectMemories, enabled bool) []history.Memory {
	if !enabled {
		return nil
	}
	all := make([]history.Memory, len(p.Memories))
	for i, r := range p.Memories {
		all[i] = history.Memory{
			ID: r.ID, Category: r.Category, Content: r.Content, Importance: r.Importance,
			Permanent: r.Status == "permanent", ExpiresAt: r.ExpiresAt,
		}
	}
	return all
}

// updatesFromRows returns the log of changed memories. The head uses only the entries about memories that it shows.
func updatesFromRows(log []store.MemoryChange) []history.MemoryUpdate {
	all := make([]history.MemoryUpdate, len(log))
	for i, r := range log {
		all[i] = history.MemoryUpdate{ID: r.ID, Change: history.MemoryChange(r.Kind), Memory: r.Memory, By: r.SupersededBy, Content: r.Content}
	}
	return all
}

func compartmentsFromRows(rows []store.CompartmentRow) []history.Compartment {
	all := make([]history.Compartment, len(rows))
	for i, r := range rows {
		all[i] = history.Compartment{
			Seq: r.Seq, Start: r.Start, End: r.End, Keys: r.Keys, AfterSummary: r.AfterSummary,
			Title: r.Title, Tiers: r.Tiers, Importance: r.Importance, Episode: r.Episode, Missing: r.Missing,
		}
	}
	return all
}

// rowFromHead returns the stored form of a head.
func rowFromHead(h frozen.Head, reason pipeline.FoldReason, pass, generation int) *store.HeadRow {
	sections, _ := json.Marshal(h.Sections) // numbers always encode
	return &store.HeadRow{
		Epoch: h.Fold, Generation: generation,
		ThroughKey: h.Through, ThroughOrdinal: h.Ordinal, AfterSummary: h.AfterSummary, Pinned: textOfPinned(h.Pinned),
		Baseline: h.Baseline, Acknowledgement: h.Acknowledgement, Delta: h.Delta,
		BaselineSeq: h.InBaseline - 1, DeltaSeq: h.Shows() - 1,
		BaselineTokens: h.BaselineTokens, DeltaTokens: h.DeltaTokens,
		Sections: string(sections), Memories: "[" + h.Memories + "]", MemoryID: h.MemoryMark, ChangeID: h.UpdateMark,
		FoldedPass: pass, FoldedAt: h.FoldedAt, FoldReason: string(reason), DocsHash: h.DocsHash,
	}
}

func headFromRow(r *store.HeadRow) frozen.Head {
	if r == nil {
		return frozen.Head{}
	}
	h := frozen.Head{
		Fold: r.Epoch, Through: r.ThroughKey, Ordinal: r.ThroughOrdinal, AfterSummary: r.AfterSummary, Pinned: pinnedFromText(r.Pinned),
		Baseline: r.Baseline, Acknowledgement: r.Acknowledgement, Delta: r.Delta,
		InBaseline: r.BaselineSeq + 1, InDelta: r.DeltaSeq - r.BaselineSeq,
		BaselineTokens: r.BaselineTokens, DeltaTokens: r.DeltaTokens,
		Memories: strings.Trim(r.Memories, "[]"), MemoryMark: r.MemoryID, UpdateMark: r.ChangeID,
		FoldedAt: r.FoldedAt, DocsHash: r.DocsHash,
	}
	_ = json.Unmarshal([]byte(r.Sections), &h.Sections) // people read the sections; no decision uses them
	return h
}

// textOfPinned returns the stored form of the pinned prompts.
func textOfPinned(keys [frozen.MaxPinned]string) string {
	text, _ := json.Marshal(slices.DeleteFunc(keys[:], func(key string) bool { return key == "" })) // strings always encode
	return string(text)
}

// pinnedFromText reads what textOfPinned has written.
func pinnedFromText(text string) (keys [frozen.MaxPinned]string) {
	var all []string
	_ = json.Unmarshal([]byte(text), &all) // without its keys, a pinned prompt is summarised only
	copy(keys[max(0, frozen.MaxPinned-len(all)):], all)
	return keys
}
