package doctor

import (
	"context"
	"errors"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/store/file"
	"github.com/magicctx/magicctx-host/store/retention"
)

// A host looks for expired sessions when it starts, and once a day. It deletes a session only after
// retention.TrustedTidies such searches have found it expired, because the clock may be wrong. So an expired session
// can stay for a few weeks. If it stays for longer than expiredGrace, there is another reason, which doctor names.
const expiredGrace = (retention.TrustedTidies + 7) * 24 * time.Hour

func (x *examination) retention(ctx context.Context) {
	x.ok("sessions are kept for %d days after their last use, tool replies for %d, unused models for %d; the newest %s and the newest %s stay",
		days(retention.KeptSession), days(retention.KeptReply), days(retention.KeptModel),
		format.Count(file.KeptAside, "damaged database"), format.Count(file.KeptCopies, "backup"))
	oldest, err := file.OldestUse(ctx, x.DataDir)
	if errors.Is(err, file.ErrForeign) || errors.Is(err, file.ErrBusy) {
		return // the check of the store reports this error
	}
	if err != nil {
		x.warn("see the findings about the store", "the age of the sessions is unknown: %v", err)
		return
	}
	if age := x.Now().Sub(time.UnixMilli(oldest)); oldest > 0 && age > retention.KeptSession+expiredGrace {
		x.ok("the oldest session was last used %d days ago: a session of today began as its copy or comes from it, or no host ran since", days(age))
	}
}

func days(d time.Duration) int { return int(d / (24 * time.Hour)) }
