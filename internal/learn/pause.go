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

// A pause is the idle time before a pass, with the cache read that the provider should report if the prefix is alive.
type pause struct {
	model           schema.Model
	npm             string
	atLeast, atMost time.Duration
	// shared is the size before the first message, for example the system prompt, which other sessions also keep
	// cached. kept is the size of the messages that are unchanged since the last request.
	shared, kept int
	// isWhole means that kept covers the whole last wire. Then a miss proves that the prefix was too old, because the
	// provider has reported cache reads before and its look-back reaches the prefix.
	isWhole bool
}

// After the pass's usage is known, or if it would prove nothing, the pause is nil.
var pauses = session.NewSlot[*pause]()

// minRepeatedTokens is the least number of message tokens that a prompt must repeat so that its usage proves
// anything. The size of the shared part is only an estimate, so a smaller read may be of the shared part alone.
const minRepeatedTokens = 1024

// If the pass's usage will prove nothing, pauseBefore returns nil. The caller calls it before the pass updates the
// session.
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

// NotePause compares, once per pass, the usage of the newest pass with the predicted cache read. If three quarters of
// the messages' tokens were read, the messages count as read; below a quarter, as missed. Anything between proves
// nothing. The margins are wide because providers count tokens with other vocabularies than ours.
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
