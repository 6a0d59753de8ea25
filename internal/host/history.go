package host

import (
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
	end          store.HistoryEnd
	memories     store.ProjectMemories
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
	sum, err := h.Store.History(ctx, key)
	if err != nil {
		return chronicle{}, fmt.Errorf("read the history of %s: %w", key.Session, err)
	}
	c := chronicle{markers: readMarkers(sum), compartments: compartmentsFromRows(rows), end: end, headGeneration: end.Generation}
	if len(rows) > 0 {
		if c.memories, err = h.Store.Memories(ctx, project, h.Clock.Now()); err != nil {
			return chronicle{}, fmt.Errorf("read the memories of %s: %w", project, err)
		}
	}
	return c, nil
}

// history returns the material for the head in this pass.
func (ps *pass) history(ctx context.Context, r pipeline.Readings) *pipeline.History {
	s := ps.s
	if s.mode().IsSubagent || len(s.chronicle.compartments) == 0 {
		return nil
	}
	share := ps.config.HistoryBudgetPercentage / 100
	return &pipeline.History{
		Compartments: s.chronicle.compartments, Docs: ps.h.projectDocs(ctx, ps.params.Directory, s.key.Session),
		BudgetTokens: history.HistoryBudget(r.Counting.Model.OwnTokens(r.LimitTokens), r.Threshold, share),
		Marker:       s.chronicle.markers.begin(),
		Memories:     memoriesFromRows(s.chronicle.memories, ps.config.Memory.Enabled),
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

// withdraw updates the store after a revert. It runs after the pass whose head no longer shows the reverted
// messages. It deletes the compartments that cover a reverted message, and ends the running historian if it
// summarises one.
func (h *Host) withdraw(ctx context.Context, s *session) {
	from := s.firstGone()
	if from == 0 {
		return
	}
	if running := s.work.running; running != nil {
		running.cancel(errReverted)
	}
	ctx, cancel := h.writing(ctx)
	defer cancel()
	removed, err := h.Store.InvalidateCompartments(ctx, s.key, from)
	if err != nil { // the next pass tries again
		h.stored(err)
		h.Log.Warn("history of reverted messages stays", "session", s.key.Session, "error", err)
		return
	}
	h.Log.Info("history of reverted messages is gone", "session", s.key.Session, "compartments", len(removed))
	if len(removed) == 0 {
		return
	}
	s.chronicle.compartments = s.chronicle.compartments[:s.standing()]
	if again, err := h.readChronicle(ctx, s.key, s.row.Directory); err == nil {
		s.chronicle = again
	}
}

// standing returns how many compartments remain after a revert.
func (s *session) standing() int {
	return s.pipe.Standing(s.chronicle.published())
}

// published converts the compartments and the marker to the form of the pipeline.
func (c *chronicle) published() *pipeline.History {
	return &pipeline.History{Compartments: c.compartments, Marker: c.markers.begin()}
}

// firstGone returns the ordinal of the first message that a revert has taken from the
// compartments or from the run under way. If the revert has taken none, it returns 0. The host
// knows only the keys of a compartment's first and last message. So if the last one is gone,
// the whole compartment counts as gone.
func (s *session) firstGone() int {
	all := s.chronicle.compartments
	if standing := s.standing(); standing < len(all) {
		return all[standing].Start
	}
	if s.work.running != nil {
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

func compartmentsFromRows(rows []store.CompartmentRow) []history.Compartment {
	all := make([]history.Compartment, len(rows))
	for i, r := range rows {
		all[i] = history.Compartment{
			Seq: r.Seq, Start: r.Start, End: r.End, StartKey: r.StartKey, EndKey: r.EndKey,
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
		ThroughKey: h.Through, ThroughOrdinal: h.Ordinal, ThroughTag: h.ThroughTag,
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
		Fold: r.Epoch, Through: r.ThroughKey, Ordinal: r.ThroughOrdinal, ThroughTag: r.ThroughTag,
		Baseline: r.Baseline, Acknowledgement: r.Acknowledgement, Delta: r.Delta,
		InBaseline: r.BaselineSeq + 1, InDelta: r.DeltaSeq - r.BaselineSeq,
		BaselineTokens: r.BaselineTokens, DeltaTokens: r.DeltaTokens,
		Memories: strings.Trim(r.Memories, "[]"), MemoryMark: r.MemoryID, UpdateMark: r.ChangeID,
		FoldedAt: r.FoldedAt, DocsHash: r.DocsHash,
	}
	_ = json.Unmarshal([]byte(r.Sections), &h.Sections) // people read the sections; no decision uses them
	return h
}
