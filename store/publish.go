package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/memories"
	"github.com/magicctx/magicctx-host/store/work"
)

// A Publication is the result of a run of the historian: its compartments, and everything else that is stored together
// with them.
type Publication struct {
	Key    Key
	Holder string // of the session's lease
	// After is the end of the history that the run found when it began.
	After        HistoryEnd
	Compartments []chronicle.Compartment // at least one
	// Project is the identity of the project of Facts. It is required if there are facts.
	Project string
	Facts   []chronicle.Fact
	// Observations are about the user. Once PromoteAt sessions have made the same observation, it becomes a memory.
	Observations []chronicle.Observation
	PromoteAt    int
	// Promises are the promises that the run has found. Closed names earlier promises of the project that are now done
	// or no longer needed.
	Promises []chronicle.Promise
	Closed   []chronicle.Closing
	// If Marker is not "", it replaces the pending compaction marker.
	Marker string
	Run    work.RunRow
	// Problem says why no model gave a usable answer, or is "". If it is set, the compartments are extractive, and the
	// run is a failure. Retry is the first pass on which a model may be asked again.
	Problem string
	Retry   int64
}

// Publish appends the compartments of a run to the compartments of its session. The rest of p is stored in the same
// transaction. If Publish returns work.ErrLeaseLost or work.ErrStale, nothing was stored. The caller must not report
// the publication before Publish has returned nil. Otherwise, a pass could look for the publication too early.
func (s *History) Publish(ctx context.Context, p Publication) error {
	return s.publish(ctx, p, false)
}

// Promote is for a finished recomp. It replaces all compartments of a session with the compartments of p, and removes
// the staged compartments. The head must then be folded again (HeadRow.Refold). Apart from that, Promote works like
// Publish.
func (s *History) Promote(ctx context.Context, p Publication) error {
	return s.publish(ctx, p, true)
}

func (s *History) publish(ctx context.Context, p Publication, replaces bool) error {
	err := s.db.Update(ctx, func(tx *database.Tx) error {
		now := s.db.Clock.Now()
		if len(p.Compartments) == 0 {
			return errors.New("it has no compartment")
		}
		last := p.Compartments[len(p.Compartments)-1]
		if err := work.CheckLease(tx, HistorianOf(p.Key), p.Holder, last.End, now); err != nil {
			return err
		}
		if err := checkEnd(tx, p.Key, p.After); err != nil {
			return err
		}
		if err := ensureHistory(tx, p.Key); err != nil {
			return err
		}
		end := p.After
		if replaces {
			if err := removeForPromotion(tx, p.Key); err != nil {
				return err
			}
			end = HistoryEnd{Ordinal: 1}
		}
		if err := insertCompartments(tx, publishedTable, p.Key, end, p.Compartments, now); err != nil {
			return err
		}
		return insertFindings(tx, p, now)
	})
	if err != nil {
		return fmt.Errorf("publish history of %s: %w", p.Key, err)
	}
	return nil
}

func checkEnd(tx *database.Tx, key Key, after HistoryEnd) error {
	end, err := readHistoryEnd(tx.Scan, key)
	if err != nil {
		return err
	}
	if end != after {
		return fmt.Errorf("%w: it ended with message %d and compartment %d, now with %d and %d",
			work.ErrStale, after.Ordinal-1, after.Seq-1, end.Ordinal-1, end.Seq-1)
	}
	return nil
}

func insertFindings(tx *database.Tx, p Publication, now int64) error {
	learned, err := memories.Learn(tx, p.Project, p.Facts, p.Key.Harness, p.Key.Session, now)
	if err != nil {
		return err
	}
	if err := memories.Observe(tx, p.Observations, p.PromoteAt, p.Key.Harness, p.Key.Session, now); err != nil {
		return err
	}
	if len(p.Promises)+len(p.Closed) > 0 {
		if err := memories.Keep(tx, p.Project, p.Promises, p.Closed, p.Key.Harness, p.Key.Session, now); err != nil {
			return err
		}
	}
	last := p.Compartments[len(p.Compartments)-1]
	isExtracted := last.MadeBy == chronicle.ByExtraction
	_, err = tx.Exec(`
		UPDATE histories
		SET pending_marker = CASE WHEN ?3 = '' THEN pending_marker ELSE ?3 END,
			publishes      = publishes + 1,
			extracted      = extracted + ?4
		WHERE harness = ?1 AND session_id = ?2`, p.Key.Harness, p.Key.Session, p.Marker, isExtracted)
	if err != nil {
		return fmt.Errorf("state of the history: %w", err)
	}
	historian := HistorianOf(p.Key)
	switch {
	case p.Problem != "":
		err = work.CountFailure(tx, historian, p.Problem, now, p.Retry)
	case !isExtracted: // extractive compartments do not show that the models work again
		err = work.ClearFailures(tx, historian)
	}
	if err != nil {
		return fmt.Errorf("pace of the historian: %w", err)
	}
	if !isExtracted {
		if err := work.Credit(tx, p.Holder, len(p.Compartments), learned, 0); err != nil {
			return err
		}
	}
	return work.InsertRun(tx, historian, p.run(), now)
}

func (p Publication) run() work.RunRow {
	r := p.Run
	r.Status = work.Success
	rows := p.Compartments
	r.Start, r.End, r.MadeBy, r.Produced = rows[0].Start, rows[len(rows)-1].End, string(rows[0].MadeBy), len(rows)
	weights := 0.0
	for _, c := range rows {
		weight := float64(max(c.RawTokens, 1))
		r.Fidelity += clampShare(c.Fidelity) * weight
		weights += weight
	}
	r.Fidelity /= weights
	return r
}
