package summary

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/keyfiles"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/store"
)

// defaultHistoryBudget is the history's default share of the usable window, in percent.
var defaultHistoryBudget = config.Default().HistoryBudgetPercentage

// head returns the content for a new head: the history that this pass would show if it folded.
func (h *Historian) head(ctx context.Context, ps *pass.Pass, r pipeline.Readings) *pipeline.History {
	s := ps.Session
	if s.Mode().IsSubagent {
		return nil
	}
	var memories []chronicle.Memory
	var changes []chronicle.MemoryChange
	if ps.Config.Memory.Enabled {
		if err := h.Sessions.RefreshMemories(ctx, s); err != nil {
			h.Log.Warn("new memories are not read", "session", s.Key.Session, "error", err)
		}
		memories, changes = s.Chronicle.Memories.Memories, s.Chronicle.MemoryChanges
		if ps.Config.Dreamer.UserMemories.Enabled {
			memories = slices.Concat(memories, s.Chronicle.UserMemories)
		}
	}
	promises := promisesIn(ctx, h, ps)
	isAlone := len(s.Chronicle.Compartments)+len(s.Chronicle.Withdrawn) == 0
	if isAlone && len(memories)+len(promises) == 0 && !s.Pipe.State.Head.Exists() {
		return nil
	}
	share := ps.Config.HistoryBudgetPercentage / 100
	budget := cmp.Or(history.HistoryBudget(r.Counting.Model.OwnTokens(r.LimitTokens), r.Threshold, share), history.DefaultHistoryBudget)
	if ps.Config.HistoryBudgetPercentage <= defaultHistoryBudget { // a share above the default is the user's wish, because a project cannot raise it
		budget = min(budget, history.SpendingBudget(ps.Config.Spending))
	}
	var docs []history.Doc
	if ps.Config.ProjectDocs.Enabled && !isAlone { // without history, the model can still read the documents itself
		docs = h.projectDocs(ctx, ps.Params.Directory, s.Key.Session)
	}
	notes := 0
	if !isAlone {
		var err error
		if notes, err = h.Store.Memories.OpenNotes(ctx, s.Key.Harness, s.Key.Session, s.Row.Project); err != nil {
			h.Log.Warn("the model is not reminded of its notes", "session", s.Key.Session, "error", err)
		}
	}
	var files []history.KeyFile
	if !isAlone {
		files = keyFilesIn(ctx, h, ps)
	}
	return &pipeline.History{
		Compartments: s.Chronicle.Compartments, Withdrawn: s.Chronicle.Withdrawn, BudgetTokens: budget,
		Docs: docs, DocsTokens: max(1, int(float64(budget)*ps.Config.ProjectDocs.BudgetPercentage/100)),
		Memories: memories, Notes: notes, Promises: promises, Session: s.Key.Session,
		KeyFiles: files, KeyFileTokens: history.KeyFileBudget(ps.Config.Dreamer.PinKeyFiles.TokenBudget, budget),
		Updates:      changes,
		MemoryTokens: ps.Config.Memory.InjectionBudgetTokens,
		StandsAlone: slices.ContainsFunc(memories, func(m chronicle.Memory) bool { return m.ExpiresAt == 0 || m.ExpiresAt > r.Now }) ||
			slices.ContainsFunc(promises, func(n chronicle.Note) bool { return n.IsOpen() }),
		Refold: s.Chronicle.HeadGeneration != s.Chronicle.End.Generation,
	}
}

// keyFilesIn returns the current key files of the project, and those that the head already shows. If they cannot be
// read, the head gets none.
func keyFilesIn(ctx context.Context, h *Historian, ps *pass.Pass) []history.KeyFile {
	s := ps.Session
	if !ps.Config.Dreamer.PinKeyFiles.Enabled || h.IndexDir == "" || s.Row.Project == "" {
		return nil
	}
	files, err := h.files.Read(ctx, keyfiles.Question{
		Directory: ps.Params.Directory, Project: s.Row.Project, IndexDir: h.IndexDir, MinReads: ps.Config.Dreamer.PinKeyFiles.MinReads,
		Shown: history.ShownKeyFiles(s.Pipe.State.Head.KeyFiles),
	})
	if err != nil {
		h.Log.Warn("the key files are left out", "session", s.Key.Session, "error", err)
	}
	return files
}

// promisesIn returns the open promises of the project. It also returns promises that were closed since the last fold,
// because the head still shows them as open.
func promisesIn(ctx context.Context, h *Historian, ps *pass.Pass) []chronicle.Note {
	since := int64(math.MaxInt64)
	if head := ps.Session.Pipe.State.Head; head.Exists() {
		since = head.FoldedAt
	}
	if !ps.Config.Memory.Enabled {
		return nil
	}
	return readPromises(ctx, h, ps.Session.Key, ps.Session.Row.Project, since)
}

// readPromises returns the promises that are open, or were closed after a time in Unix ms.
func readPromises(ctx context.Context, h *Historian, key store.Key, project string, after int64) []chronicle.Note {
	all, err := h.Store.Memories.Promises(ctx, project, after)
	if err != nil {
		h.Log.Warn("open promises are not read", "session", key.Session, "error", err)
	}
	return all
}

// rearrange updates the stored compartments after a revert, or after reverted messages have come back. It withdraws
// each compartment that has lost a message, and restores each withdrawn compartment whose messages are back. If the
// current run summarises a message that is gone, rearrange ends the run. It may be called only when the head matches
// the array: after the pass, or in an emergency before an extract.
func (h *Historian) rearrange(ctx context.Context, s *session.Session) {
	kept, restored := s.Pipe.Standing(s.Chronicle.Published())
	from := goneFrom(s, kept)
	if from == 0 && len(restored) == 0 {
		return
	}
	if running := stateOf(s).running; running != nil && from > 0 {
		running.cancel(errReverted)
	}
	ctx, cancel := h.Guard.Writing(ctx)
	defer cancel()
	if err := h.storeRearranged(ctx, s, from, restored); err != nil { // the next pass tries again
		h.Guard.Wrote(err)
		h.Log.Warn("summaries that do not fit the conversation stay stored", "session", s.Key.Session, "error", err)
		return
	}
	if running := stateOf(s).running; running != nil && from > 0 {
		running.isTakenBack = true
	}
	s.Chronicle.Compartments = append(slices.Clip(s.Chronicle.Compartments[:kept]), restored...)
	if again, err := h.Sessions.ReadChronicle(ctx, s); err == nil {
		s.Chronicle = again
	}
}

func (h *Historian) storeRearranged(ctx context.Context, s *session.Session, from int, restored []chronicle.Compartment) error {
	end := s.Chronicle.End
	if from > 0 {
		withdrawn, err := h.Store.History.Withdraw(ctx, s.Key, from)
		if err != nil {
			return err
		}
		h.Log.Info("summaries of reverted messages are withdrawn", "session", s.Key.Session, "compartments", len(withdrawn))
		if _, end, err = h.Store.History.Compartments(ctx, s.Key); err != nil {
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
	if err := h.Store.History.Restore(ctx, s.Key, end, seqs); err != nil {
		return err
	}
	h.Log.Info("summaries of messages that are back are restored", "session", s.Key.Session, "compartments", len(restored))
	return nil
}

// goneFrom returns the ordinal of the first reverted message that a compartment or the current run contains, or 0 if
// there is none. The first `standing` compartments still have all their messages.
func goneFrom(s *session.Session, standing int) int {
	all := s.Chronicle.Compartments
	if standing < len(all) {
		return all[standing].Start
	}
	running := stateOf(s).running
	if running == nil || running.isTakenBack {
		return 0
	}
	from := firstGone(s.Pipe, running.job.Chunk.Lines)
	if from > 0 && len(all) > 0 { // if another run has summarised these messages meanwhile, they are hidden, and not reverted
		from = max(from, all[len(all)-1].End+1)
	}
	return from
}

// firstGone returns the ordinal of the first reverted message in `lines`, or 0 if there is none. A revert always
// removes the last messages of a session. So if the array still has the last message of `lines`, it has all of them.
func firstGone(p *pipeline.Session, lines []chronicle.Place) (ordinal int) {
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

// If the documents of the project cannot be read, the baseline shows none.
func (h *Historian) projectDocs(ctx context.Context, directory, session string) []history.Doc {
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
