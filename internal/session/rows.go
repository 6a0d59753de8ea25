package session

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/frozen"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func metaFromRow(r store.SessionRow) pipeline.Meta {
	return pipeline.Meta{
		Passes: r.Passes, Epoch: r.Epoch, At: r.LastPassAt, Model: schema.Model{Provider: r.Provider, ID: r.Model}, Agent: r.Agent,
		Wire: chainFrom(r.WireMessages, r.WireChain), Raw: chainFrom(r.RawMessages, r.RawChain),
		Episode: episodeFromRow(r.Episode), ReclaimUpTo: r.Setup.ReclaimUpTo, Gauge: pipeline.Gauge(r.Gauge), Rent: pipeline.Rent(r.Rent),
	}
}

// If the stored text is not a chain, chainFrom returns an empty chain. The next pass then works as usual, but it cannot
// compare its wire with the last one.
func chainFrom(messages int, text string) pipeline.Chain {
	c := pipeline.Chain{Messages: messages}
	b, err := hex.DecodeString(text)
	if text == "" {
		return c
	}
	if err != nil || len(b) != len(c.Hash) {
		return pipeline.Chain{}
	}
	copy(c.Hash[:], b)
	return c
}

func TextOf(c pipeline.Chain) string { return hex.EncodeToString(c.Hash[:]) }

func stateFromSnapshot(snap store.Snapshot, compartments []chronicle.Compartment) *frozen.State {
	units := unitsFromRows(slices.Concat(snap.Units, snap.Waiting))
	if len(snap.Waiting) > 0 {
		slices.SortFunc(units, func(a, b frozen.Unit) int { return a.Tag - b.Tag })
	}
	edits := make([]frozen.Edit, len(snap.Edits))
	for i, e := range snap.Edits {
		edits[i] = editFromRow(e)
	}
	queue := make([]frozen.QueuedDrop, len(snap.Queued))
	for i, d := range snap.Queued {
		queue[i] = frozen.QueuedDrop{Tag: d.Tag, Key: d.UnitKey, QueuedAt: d.QueuedAt}
	}
	state := frozen.NewState(snap.Session.TagCounter, units, edits, queue)
	state.Setup = setupFromRow(snap.Session.Setup)
	head := HeadFromRow(snap.Head)
	state.SetHead(head, pipeline.CoveredKeys(head, compartments))
	for _, t := range snap.Thinking {
		state.Bind(frozen.Binding{MessageKey: t.MessageKey, Prompt: t.Prompt, Lost: t.LostPass > 0})
	}
	return state
}

func setupFromRow(r store.SetupState) frozen.Setup {
	return frozen.Setup{
		Profile: r.Profile, Binds: r.Binds, Preamble: r.Preamble, Gaps: r.ShowGaps,
		Todo: frozen.Todo{MessageKey: r.TodoMessage, State: r.TodoState},
	}
}

func RowFromSetup(s frozen.Setup, reclaimUpTo int) store.SetupState {
	return store.SetupState{
		Profile: s.Profile, Binds: s.Binds, Preamble: s.Preamble, ShowGaps: s.Gaps, ReclaimUpTo: reclaimUpTo,
		TodoMessage: s.Todo.MessageKey, TodoState: s.Todo.State,
	}
}

func episodeFromRow(r store.EpisodeState) pipeline.Episode {
	return pipeline.Episode{
		Relief: pipeline.Relief{Of: r.ReliefOf, Tokens: r.Relief},
		Stuck:  pipeline.Stuck{Tag: r.StuckTag, Grace: r.StuckGrace, Band: r.StuckBand},
	}
}

func RowFromEpisode(e pipeline.Episode) store.EpisodeState {
	return store.EpisodeState{
		ReliefOf: e.Relief.Of, Relief: e.Relief.Tokens,
		StuckTag: e.Stuck.Tag, StuckGrace: e.Stuck.Grace, StuckBand: e.Stuck.Band,
	}
}

func editFromRow(r store.EditRow) frozen.Edit {
	level := 0
	if r.Kind == string(frozen.Compress) {
		level, _ = strconv.Atoi(r.Payload)
	}
	return frozen.Edit{Tag: r.Tag, Kind: frozen.EditKind(r.Kind), Level: level}
}

// The payload of a compression is its level. The payload of any other edit is the name of the rule that
// proposed it. No code reads this name, only people do.
func RowFromEdit(e frozen.Edit, pass int, rule string) store.EditRow {
	row := store.EditRow{Tag: e.Tag, Kind: string(e.Kind), Pass: pass, Payload: rule}
	if e.Level > 0 {
		row.Payload = strconv.Itoa(e.Level)
	}
	return row
}

func unitFromRow(r store.UnitRow) frozen.Unit {
	return frozen.Unit{
		Tag: r.Tag, Key: r.UnitKey, MessageKey: r.MessageKey, Kind: frozen.UnitKind(r.Kind), Tool: r.Tool,
		Bytes: r.Bytes, Tokens: r.Tokens, InputBytes: r.InputBytes, InputTokens: r.InputTokens, GapSeconds: r.GapSeconds, Note: r.Note, Fingerprint: r.Fingerprint, Typed: r.Typed, Kept: r.Kept,
	}
}

func unitsFromRows(rows []store.UnitRow) []frozen.Unit {
	units := make([]frozen.Unit, len(rows))
	for i, r := range rows {
		units[i] = unitFromRow(r)
	}
	return units
}

func RowsFromUnits(units []frozen.Unit) []store.UnitRow {
	rows := make([]store.UnitRow, len(units))
	for i, u := range units {
		rows[i] = rowFromUnit(u)
	}
	return rows
}

func rowFromUnit(u frozen.Unit) store.UnitRow {
	return store.UnitRow{
		Tag: u.Tag, UnitKey: u.Key, MessageKey: u.MessageKey, Kind: string(u.Kind), Tool: u.Tool,
		Bytes: u.Bytes, Tokens: u.Tokens, InputBytes: u.InputBytes, InputTokens: u.InputTokens, GapSeconds: u.GapSeconds, Note: u.Note, Fingerprint: u.Fingerprint, Typed: u.Typed, Kept: u.Kept,
	}
}

func RowFromHead(h frozen.Head, reason pipeline.FoldReason, pass, generation int) *store.HeadRow {
	sections, _ := json.Marshal(h.Sections) // numbers can always be encoded
	return &store.HeadRow{
		Epoch: h.Fold, Generation: generation,
		ThroughKey: h.Through, ThroughOrdinal: h.Ordinal, AfterSummary: h.AfterSummary, Pinned: textOfPinned(h.Pinned),
		Baseline: h.Baseline, Acknowledgement: h.Acknowledgement, Delta: h.Delta,
		BaselineSeq: h.InBaseline - 1, DeltaSeq: h.Shows() - 1,
		BaselineTokens: h.BaselineTokens, DeltaTokens: h.DeltaTokens,
		Sections: string(sections), Memories: "[" + h.Memories + "]", MemoryID: h.MemoryMark, ChangeID: h.UpdateMark,
		FoldedPass: pass, FoldedAt: h.FoldedAt, FoldReason: string(reason), DocsHash: h.DocsHash,
		KeyFiles: h.KeyFiles,
	}
}

func HeadFromRow(r *store.HeadRow) frozen.Head {
	if r == nil {
		return frozen.Head{}
	}
	h := frozen.Head{
		Fold: r.Epoch, Through: r.ThroughKey, Ordinal: r.ThroughOrdinal, AfterSummary: r.AfterSummary, Pinned: pinnedFromText(r.Pinned),
		Baseline: r.Baseline, Acknowledgement: r.Acknowledgement, Delta: r.Delta,
		InBaseline: r.BaselineSeq + 1, InDelta: max(0, r.DeltaSeq-r.BaselineSeq),
		BaselineTokens: r.BaselineTokens, DeltaTokens: r.DeltaTokens,
		Memories: strings.Trim(r.Memories, "[]"), MemoryMark: r.MemoryID, UpdateMark: r.ChangeID,
		FoldedAt: r.FoldedAt, DocsHash: r.DocsHash, KeyFiles: r.KeyFiles,
	}
	_ = json.Unmarshal([]byte(r.Sections), &h.Sections) // people read the sections; no decision uses them
	return h
}

func textOfPinned(keys [frozen.MaxPinned]string) string {
	text, _ := json.Marshal(slices.DeleteFunc(keys[:], func(key string) bool { return key == "" })) // strings can always be encoded
	return string(text)
}

func pinnedFromText(text string) (keys [frozen.MaxPinned]string) {
	var all []string
	_ = json.Unmarshal([]byte(text), &all) // a pinned prompt without its key is only in the summaries
	copy(keys[max(0, frozen.MaxPinned-len(all)):], all)
	return keys
}
