package learn

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/session"
)

type sampling struct {
	// learnRatio compares the usages of two answers. `from` is the key of the older one, or "" if there is none yet.
	from string
	// `answered` is the key of the newest answer before the last bust. No comparison may begin with this answer,
	// because its prompt did not yet have the edits of the bust.
	answered string
}

var samplings = session.NewSlot[sampling]()

func (l *Learner) learnRatio(ctx context.Context, s *session.Session) error {
	now := samplings.Of(s)
	newest := s.Pipe.Measured()
	if newest == "" || newest == now.answered {
		return nil
	}
	if now.from == "" {
		now.from = newest
		return nil
	}
	sample, ok := s.Pipe.SampleTokens(now.from, newest)
	if !ok {
		return nil
	}
	now.from = newest
	if sample.Ratio == 0 || sample.Model.ID == "" {
		return nil
	}
	return l.Models.LearnRatio(ctx, sample)
}
