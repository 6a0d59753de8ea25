package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
)

// A Publication is the result of a successful run of the historian, with all its consequences.
type Publication struct {
	Key    Key
	Holder string // of the session's lease
	// After is the end of the history that the run found when it began.
	After        HistoryEnd
	Compartments []CompartmentRow // at least one
	// Project is the identity of the project to which Facts belong. It is required if there are facts.
	Project string
	Facts   []FactRow
	// Drops are drops of the units that the compartments cover. A tag that is already queued keeps its place.
	Drops []DropRow
	// Marker replaces the pending compaction marker, unless it is empty.
	Marker string
	Run    RunRow
	// Problem says why the compartments are extractive, if no model gave a usable answer. It counts as a
	// failure. RetryPass is the first pass on which a model may be asked again.
	Problem   string
	RetryPass int
}

//go:embed query/history_published.sql
var historyPublishedSQL string

// Publish appends the compartments of a run to those of its session. It stores everything else of p in
// the same transaction. If it fails with ErrLeaseLost or ErrStale, it stores nothing.
//
// The caller may tell others of the publication only after Publish has returned nil, because the next
// pass then reads all of it.
func (s *History) Publish(ctx context.Context, p Publication) error {
	return s.publish(ctx, p, false)
}

// Promote replaces the compartments of a session by those of p, which must be all compartments of the
// session. It removes the staged compartments of a recomp, and the head has to be folded again
// (HeadRow.Refold). Otherwise it works like Publish.
func (s *History) Promote(ctx context.Context, p Publication) error {
	return s.publish(ctx, p, true)
}

func (s *History) publish(ctx context.Context, p Publication, replaces bool) error {
	err := s.update(ctx, func(tx *transaction) error {
		now := s.clock.Now()
		if len(p.Compartments) == 0 {
			return errors.New("it has no compartment")
		}
		last := p.Compartments[len(p.Compartments)-1]
		if err := checkLease(tx, p.Key, p.Holder, last.End, now); err != nil {
			return err
		}
		if err := checkEnd(tx, p.Key, p.After); err != nil {
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

// checkEnd fails with ErrStale if the history of a session does not end at after any more.
func checkEnd(tx *transaction, key Key, after HistoryEnd) error {
	end, err := readHistoryEnd(tx.scan, key)
	if err != nil {
		return err
	}
	if end != after {
		return fmt.Errorf("%w: it ended with message %d and compartment %d, now with %d and %d",
			ErrStale, after.Ordinal-1, after.Seq-1, end.Ordinal-1, end.Seq-1)
	}
	return nil
}

// insertFindings stores the facts and drops of a publication.
func insertFindings(tx *transaction, p Publication, now int64) error {
	if err := promoteFacts(tx, p, now); err != nil {
		return err
	}
	if err := insertDrops(tx, p.Key, p.Drops); err != nil {
		return fmt.Errorf("queued drop: %w", err)
	}
	if err := deleteStrayDrops(tx, p.Key); err != nil {
		return err
	}
	last := p.Compartments[len(p.Compartments)-1]
	_, err := tx.exec(historyPublishedSQL, p.Key.Harness, p.Key.Session, last.End+1, p.Marker,
		last.MadeBy == MadeByExtraction, p.Problem, now, p.RetryPass)
	if err != nil {
		return fmt.Errorf("state of the historian: %w", err)
	}
	return insertRun(tx, p.Key, p.run(), now)
}
