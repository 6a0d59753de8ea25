package pass

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/magicctx/magicctx-host/internal/model"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// commit stores the pass in one transaction, and then updates the session in memory.
func (ps *Pass) commit(ctx context.Context) error {
	s, d := ps.Session, ps.Decision
	ps.SystemChanged = s.IsSystemChanged()
	if ps.SystemChanged && !ps.Wire.Bust {
		ps.Wire.Bust, ps.Wire.BustCause = true, pipeline.BustSystem
	}
	w := ps.Wire
	after := s.Pipe.After(d, w, ps.At)
	row := ps.rowAfter(after)
	after.Passes = row.Passes // a fork counts its passes from 1
	head := s.Pipe.State.Head
	if d.Head != nil {
		head = *d.Head
	}
	c := store.PassCommit{
		Session: row, Pass: ps.journalLine(row, head),
		Units: session.RowsFromUnits(slices.Concat(s.Unsaved, ps.Fresh)), Stamped: s.Pipe.Stamped(),
		Restored: d.Restored, Released: d.Released, Drained: d.Drained, LostThinking: w.Lost,
		FlushDone:  row.ExplicitFlush,
		RoomMade:   row.OverflowAt > 0 && (len(d.Edits) > 0 || d.Head != nil || ps.refusedGone),
		SystemSent: ps.SystemChanged,
	}
	if d.Head != nil {
		c.Head = session.RowFromHead(*d.Head, d.Fold, row.Passes, s.Chronicle.End.Generation)
	}
	for _, b := range s.Pipe.Unstored() {
		c.Thinking = append(c.Thinking, store.ThinkingRow{MessageKey: b.MessageKey, Prompt: b.Prompt})
	}
	if s.Inherited != nil {
		c.Edits, c.Inherited = slices.Clip(s.Inherited.Edits), &s.Inherited.Rest
		c.Thinking = append(c.Thinking, s.Inherited.Thinking...)
	}
	for i, e := range d.Edits {
		c.Edits = append(c.Edits, session.RowFromEdit(e, row.Passes, d.Reasons[i].Rule))
	}
	for _, f := range ps.e.Features {
		if f.Storing != nil {
			f.Storing(ps, &c)
		}
	}
	ctx, cancel := ps.e.Guard.Writing(ctx)
	defer cancel()
	if err := ps.e.Store.CommitPass(ctx, c); err != nil {
		return fmt.Errorf("store the decisions of request %d: %w", row.Passes, err)
	}
	s.Unsaved, s.Inherited = nil, nil
	for _, f := range ps.e.Features {
		if f.Stored != nil {
			f.Stored(ps)
		}
	}
	s.WireTokens = w.Tokens
	row.System.Pending = row.System.Pending && !ps.SystemChanged
	s.Pipe.Commit(d, w, after)
	row.ExplicitFlush = false
	if c.RoomMade {
		row.OverflowAt = 0
	}
	s.Row = row
	if d.Head != nil {
		s.Chronicle.HeadGeneration = c.Head.Generation
	}
	if ps.e.Taken != nil && len(d.Edits) > 0 {
		ps.e.Taken(s.Key.Session, row.Passes, s.Pipe.Taken(d))
	}
	ps.log()
	return nil
}

func (ps *Pass) rowAfter(after pipeline.Meta) store.SessionRow {
	row, w := ps.Session.Row, ps.Wire
	row.Passes++
	row.Epoch = after.Epoch
	row.LastPassAt = after.At
	row.Provider, row.Model, row.Agent = after.Model.Provider, after.Model.ID, after.Agent
	row.LimitTokens = model.PromptLimit(ps.Limits)
	row.TagCounter = ps.Session.Pipe.State.TagCounter
	row.Setup = session.RowFromSetup(w.Setup, after.ReclaimUpTo)
	row.Episode, row.Gauge = session.RowFromEpisode(after.Episode), store.GaugeState(after.Gauge)
	row.Rent, row.Tail = store.RentState(after.Rent), store.TailState(ps.Session.Pipe.Parts(ps.Decision.Additions.Additions))
	row.WireMessages, row.WireChain = w.Wire.Messages, session.TextOf(w.Wire)
	row.RawMessages, row.RawChain, row.RawTokens = w.Raw.Messages, session.TextOf(w.Raw), after.RawTokens
	row.LostBlocks += w.LostBlocks
	row.LostTokens += w.LostTokens
	if w.Bust {
		row.Busts++
	}
	return row
}

func (ps *Pass) journalLine(row store.SessionRow, head frozen.Head) store.PassRow {
	d, w := ps.Decision, ps.Wire
	return store.PassRow{
		Pass: row.Passes, At: ps.At,
		Verdict: string(d.Verdict), Cause: string(d.Cause),
		Bust: w.Bust, BustCause: w.BustCause,
		Messages:     ps.Session.Pipe.Len(),
		WireMessages: w.Wire.Messages, WireTokens: w.Tokens, PrefixTokens: w.PrefixTokens,
		EditsAdded: len(d.Edits),
		Pressure:   d.Percent / 100, SizeTokens: d.Size.Current, GoalTokens: d.Goal,
		Price:      d.Price,
		LostBlocks: w.LostBlocks, LostTokens: w.LostTokens,
		FoldReason: string(d.Fold), BaselineTokens: head.BaselineTokens, DeltaTokens: head.DeltaTokens,
		MemoryTokens: head.Sections.Memory, ToolTokens: row.Tail.Inputs + row.Tail.Results, ReasoningTokens: max(0, ps.Session.Pipe.Thinking(d.Additions.Additions)-w.LostTokens),
	}
}

func (ps *Pass) log() {
	s, d, w := ps.Session, ps.Decision, ps.Wire
	ps.e.Log.Debug("pass", "session", s.Key.Session, "pass", s.Row.Passes,
		"verdict", d.Verdict, "cause", d.Cause, "pressure", d.Percent/100,
		"bust", w.Bust, "bustCause", w.BustCause, "edits", len(d.Edits),
		"fold", d.Fold, "size", d.Size.Current, "goal", d.Goal, "lostBlocks", w.LostBlocks,
		"removed", d.Price.Removed, "resent", d.Price.Resent, "breakEven", d.Price.BreakEven, "forecast", d.Price.Forecast,
		"freedBy", d.FreedBy, "messages", s.Pipe.Len(), "took", time.Since(ps.started))
}

// answer returns what the client needs to build the wire of this pass. The client keeps the head and the patches of
// earlier answers, so the answer contains only what has changed since.
func (ps *Pass) answer() schema.WireMutation {
	s := ps.Session
	s.Revision = ps.e.Serial.Next()
	m := schema.WireMutation{Revision: s.Revision, Verdict: ps.Decision.Verdict, Wire: ps.Wire.Token}
	if s.Row.Passes == 0 && !s.SystemComesFirst() {
		// System leaves the system prompt unchanged until a first pass is stored. So the system prompt of the next
		// request will differ from the one of this request. This invalidates the thinking in the answer to this
		// request. Because m.Wire is empty, the host will not bind this thinking (F21 in docs/defects.md).
		m.Wire = ""
	}
	if ps.Decision.Verdict != schema.Steady {
		m.Cause = string(ps.Decision.Cause)
	}
	m.Edits, m.Cleared = s.Pipe.Mutation()
	m.Start, m.Pinned, m.Head, m.HeadCleared = s.Pipe.HeadMutation()
	return m
}
