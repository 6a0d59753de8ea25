package memories

import (
	"context"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/magicctx/magicctx-host/internal/chronicle"
	"github.com/magicctx/magicctx-host/store/database"
	"github.com/magicctx/magicctx-host/store/work"
)

// DreamerOf returns the work of the dreamer for a project.
func DreamerOf(project string) work.Work {
	return work.Work{Agent: "dreamer", Subject: work.Subject{Project: project}}
}

// A Merge replaces memories of a project with one. Old holds them as the dreamer has read them.
type Merge struct {
	Old     []chronicle.Memory
	Content string
}

// Consolidate applies the merges of a run of the dreamer, and records the run. It leaves out a merge of memories that
// somebody has changed since the dreamer read them. It returns the number of the run, and the memories that were replaced
// and their replacements. If the run no longer has its lease, it stores nothing, and the error is work.ErrLeaseLost.
func (s *Memories) Consolidate(ctx context.Context, project, holder string, merges []Merge, run work.RunRow) (number int, old, merged []chronicle.Memory, err error) {
	w := DreamerOf(project)
	err = s.db.Update(ctx, func(tx *database.Tx) error {
		now := s.db.Clock.Now()
		if err := work.CheckLease(tx, w, holder, 0, now); err != nil {
			return err
		}
		err := tx.Scan(`SELECT runs + 1 FROM agent_work WHERE subject = ? AND agent = ?`,
			func(row *sqlite3.Stmt) { number = row.ColumnInt(0) }, w.Subject.String(), w.Agent)
		if err != nil {
			return err
		}
		e := EditingInRun(tx, now, number)
		for _, m := range merges {
			ids, err := unchanged(e, project, m.Old)
			if err != nil {
				return err
			}
			if ids == nil {
				continue
			}
			into, _, err := e.Merge(ids, chronicle.Memory{Project: project, Directory: m.Old[0].Directory, Content: m.Content, Source: chronicle.FromAgent})
			if _, isRefused := errors.AsType[Refusal](err); isRefused {
				continue // for example, a third memory says the same
			}
			if err != nil {
				return err
			}
			old, merged = append(old, m.Old...), append(merged, into)
		}
		run.Status, run.Produced = work.Noop, len(merged)
		if len(merged) > 0 {
			run.Status = work.Success
		}
		if err := work.ClearFailures(tx, w); err != nil {
			return err
		}
		if err := work.Credit(tx, holder, 0, len(merged)); err != nil {
			return err
		}
		return work.InsertRun(tx, w, run, now)
	})
	if err != nil {
		return 0, nil, nil, fmt.Errorf("consolidate memories of %s: %w", project, err)
	}
	return number, old, merged, nil
}

// unchanged returns the ids of memories, or nil if somebody has changed one of them.
func unchanged(e *Editor, project string, old []chronicle.Memory) (ids []int64, err error) {
	for _, m := range old {
		now, err := e.Reader().Memory(project, m.ID)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return nil, err
		}
		if err != nil || now.Content != m.Content || now.Category != m.Category || now.Status != m.Status || now.Permanent != m.Permanent {
			return nil, nil
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}
