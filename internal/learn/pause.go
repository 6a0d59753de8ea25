package learn

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/internal/pass"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/internal/session"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
)

// A pause describes the idle time before a pass, and the tokens that the provider then reads from its cache if
// the prefix is still alive. The usage that comes with the answer shows whether the prefix was alive.
type pause struct {
	model schema.Model
	npm   string
	// Before the request, the cache was idle for a time between atLeast and atMost.
	atLeast, atMost time.Duration
	// shared is the number of tokens before the first message, for example the system prompt. The requests of
	// other sessions also keep this part in the cache. kept is the size of the messages that are unchanged
	// since the last request.
	shared, kept int
	// isWhole means that kept covers the whole last wire. Then a miss proves that the prefix was too old,
	// because the provider has reported cache reads before and its look-back reaches the prefix.
	isWhole bool
}

// pauses holds the pause before the newest pass of a session. The pause is nil once the pass's usage is known, or if
// this usage would prove nothing.
var pauses = session.NewSlot[*pause]()

// minRepeatedTokens is the least number of message tokens that a prompt must repeat before its usage tells whether the
// cache survived a pause. If a prompt repeats fewer tokens, its usage does not show whether the messages were read, or
// only the shared part, because the size of the shared part is only an estimate.
const minRepeatedTokens = 1024

// pauseBefore returns the pause before the pass, or nil if the pass's usage will prove nothing. It must be
// called before the pass updates the session.
func (l *Learner) pauseBefore(ps *pass.Pass) *pause {
	pipe, w := ps.Session.Pipe, ps.Wire
	usage, completed, ok := pipe.Answer()
	sent := ps.Session.WireTokens
	if !w.Bust {
		sent = w.PrefixTokens
	}
	if !ok || completed > ps.At || sent == 0 || w.PrefixTokens < minRepeatedTokens || ps.Decision.Model != pipe.Meta.Model || l.Clients.KeptWarm(ps.Session.Key.Harness) > 0 {
		return nil
	}
	r, blocks := route.Of(ps.Decision.Model, ps.Limits.NPM), 0
	for i := range w.Rendered {
		blocks += len(w.Rendered[i].Wire.Blocks)
	}
	return &pause{
		model: ps.Decision.Model, npm: ps.Limits.NPM,
		atLeast: time.Duration(ps.At-completed) * time.Millisecond,
		atMost:  time.Duration(ps.At-pipe.Meta.At) * time.Millisecond,
		shared:  max(0, usage.Prompt()-sent), kept: w.PrefixTokens,
		isWhole: !w.Bust && usage.CacheRead+usage.CacheWrite > 0 && usage.Prompt() >= 2*r.MinTokens && (r.Lookback == 0 || blocks <= r.Lookback),
	}
}

// NotePause compares the usage of the newest pass with the predicted cache read. It does so once per pass. If
// three quarters of the messages' tokens were read, the messages count as read. If less than a quarter was
// read, they count as missed. Anything in between proves nothing. The margins are wide because providers
// count tokens with other vocabularies than ours.
func (l *Learner) NotePause(ctx context.Context, s *session.Session, m schema.Model, u transcript.Usage) error {
	p := *pauses.Of(s)
	if p == nil || u.Prompt() == 0 {
		return nil
	}
	*pauses.Of(s) = nil
	if m != p.model {
		return nil
	}
	r, now := route.Of(p.model, p.npm), l.Clock.Now()
	switch {
	case u.CacheRead >= p.shared+p.kept*3/4:
		return l.Models.LearnLife(ctx, m, func(l route.Learned) route.Learned { return l.Read(r, p.atLeast, now) })
	case p.isWhole && u.CacheRead <= p.shared+p.kept/4:
		return l.Models.LearnLife(ctx, m, func(l route.Learned) route.Learned { return l.Miss(r, p.atMost, now) })
	}
	return nil
}
