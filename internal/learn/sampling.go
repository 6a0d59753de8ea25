package learn

import (
	"context"

	"github.com/magicctx/magicctx-host/internal/session"
)

type sampling struct {
	// from is the key of the older of the two compared answers, or "" before the first answer.
	from string
	// answered is the newest answer at the last bust. Its prompt is from before that bust, so no comparison may begin
	// with it.
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
