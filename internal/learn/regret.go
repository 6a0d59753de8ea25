package learn

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/history"
	"github.com/magicctx/magicctx-host/store"
)

// A project regrets a rule if its models had to read again what the rule had removed: more than regrettedShare of the
// removed tokens, from at least regrettedPieces pieces. The goal for all rules together is 2 %, so a rule with twice
// that share removes content that this project still needs. With fewer pieces, a high share may be chance.
const (
	regrettedShare  = 0.04
	regrettedPieces = 3
)

type regret struct {
	// `rereads` lists removed units that a model has read again. It keeps them until a pass has stored them.
	rereads []store.RereadRow
	// `regretted` contains the rules that the project regrets. It is nil until they are read from the store.
	regretted map[string]bool
	project   string // the identity of the session's project
}

var regrets = session.NewSlot[regret]()

// noteRereads finds the removed content that new messages have read again. The result stays in memory until a pass has
// stored it. If the database is busy, a later pass stores it.
func noteRereads(s *session.Session) {
	rereads, expansions := s.Pipe.Rereads()
	if len(rereads)+len(expansions) == 0 {
		return
	}
	entries, _ := s.Pipe.Raw()
	ordinals := history.Number(entries, session.AnchorsOf(s.Chronicle.Compartments))
	ordinalOf := make(map[string]int, len(entries))
	for i, e := range entries {
		ordinalOf[e.Key] = ordinals[i]
	}
	for _, x := range expansions {
		var keys []string
		for i, n := range ordinals {
			if x.Start <= n && n <= x.End {
				keys = append(keys, entries[i].Key)
			}
		}
		rereads = append(rereads, s.Pipe.RemovedIn(keys, x.Tokens)...)
	}
	known := regrets.Of(s)
	for _, r := range rereads {
		known.rereads = append(known.rereads, store.RereadRow{Tag: r.Tag, Ordinal: ordinalOf[r.MessageKey], Tokens: r.Tokens})
	}
}

func removals(ps *pass.Pass) (rows []store.RemovalRow) {
	for rule, tokens := range ps.Decision.FreedBy {
		row := store.RemovalRow{Rule: rule, Tokens: tokens}
		if rule == pipeline.Summaries {
			row.Through = ps.Decision.Head.Ordinal
		}
		rows = append(rows, row)
	}
	return rows
}

// IsRegretted returns a function that reports whether the session's project regrets a rule. The function asks the store
// once, and again only if the model has read removed content or the project has changed.
func (l *Learner) IsRegretted(ctx context.Context, ps *pass.Pass) func(rule string) bool {
	return func(rule string) bool {
		s, known := ps.Session, regrets.Of(ps.Session)
		if known.regretted == nil || known.project != s.Row.Project {
			known.project = s.Row.Project
			all, err := l.Store.Reports.ProjectRemovals(ctx, known.project)
			if err != nil {
				l.Log.Warn("removals of the project not read", "session", s.Key.Session, "error", err)
			}
			known.regretted = make(map[string]bool)
			for _, r := range all {
				known.regretted[r.Rule] = r.Rereads >= regrettedPieces && float64(r.Reread) > regrettedShare*float64(r.Tokens)
			}
		}
		return known.regretted[rule]
	}
}
