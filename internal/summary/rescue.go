package summary

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/agents/historian"
	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/history"
)

// rescue acts if the next prompt may not fit and there is no time to wait for a model. It publishes an extract of the
// oldest messages, and lets the pass decide again. So a slow or failing historian never blocks a prompt.
func (h *Historian) rescue(ctx context.Context, ps *pass.Pass) error {
	s, d := ps.Session, ps.Decision
	mayNotFit := d.Percent >= pipeline.EmergencyPercent || ps.Readings.Overflow
	if !mayNotFit || d.Head != nil || !h.summarises(ps) {
		return nil
	}
	h.rearrange(ctx, s) // without this call, the extract could continue after a compartment whose messages are gone
	stateOf(s).passFacts = factsOf(ps, stateOf(s).client)
	stateOf(s).usage = max(stateOf(s).usage, history.EmergencyUsage)
	uncovered, ok := h.Sessions.Uncovered(ctx, s)
	if !ok {
		return nil
	}
	situation := stateOf(s).situation(uncovered)
	snapshot := situation.Snapshot(history.Request{})
	if !snapshot.IsRunnable() {
		snapshot = situation.Snapshot(history.Request{Scale: history.Scale(stateOf(s).usage)})
	}
	if !snapshot.IsRunnable() {
		return nil
	}
	if err := h.extract(ctx, ps, snapshot, uncovered); err != nil {
		return err
	}
	ps.Readings.History = h.head(ctx, ps, ps.Readings)
	ps.Decision = s.Pipe.Decide(ps.Readings)
	return nil
}

// extract publishes an extract of the eligible messages. It also ends a run that is in progress, because the run would
// summarise the same messages again.
func (h *Historian) extract(ctx context.Context, ps *pass.Pass, snapshot history.Snapshot, uncovered pipeline.Uncovered) error {
	s := ps.Session
	chunk, err := readChunk(uncovered, snapshot, history.ChunkBudget(history.HistorianLimit(stateOf(s).limit))>>stateOf(s).halvings)
	if err != nil {
		return err
	}
	job := h.job(s, chunk, uncovered)
	result, err := historian.Extractive(job)
	if err != nil {
		return fmt.Errorf("extract messages %d to %d: %w", job.Chunk.Start, job.Chunk.End, err)
	}
	p := &run{
		key: s.Key, job: job, grant: history.Grant{Way: history.Extractive}, after: s.Chronicle.End,
		reason: history.RunForced, started: h.Clock.Now(), facts: stateOf(s).passFacts, summary: s.Pipe.SummaryKey(), filler: s.Filler(),
	}
	writing, cancel := h.Guard.Writing(ctx)
	defer cancel()
	if running := stateOf(s).running; running != nil {
		running.cancel(errRescued)
		p.holder = running.holder
	} else {
		p.holder = h.Agents.NewHolder()
		if acquired, err := h.lease(p).Acquire(writing); err != nil || !acquired {
			return err
		}
		defer func() { _ = h.lease(p).Release(writing) }() // if the release fails, the lease expires after some minutes
	}
	return h.publishHistory(writing, s, p, result)
}
