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

// A pause is the time between a session's last request and a pass. If the provider still reads the prefix from its
// cache after the pause, it keeps prefixes for at least that long.
type pause struct {
	model           schema.Model
	npm             string
	atLeast, atMost time.Duration
	// `shared` is the size, in tokens, of the prompt before its first message, for example the system prompt. Other
	// sessions may have kept this part in the cache. `kept` is the size of the messages that have not changed since the
	// last request.
	shared, kept int
	// isWhole means that a miss would prove that the provider no longer had the prefix. This needs four things: the new
	// request repeats the whole last wire, the prompt is long enough for the cache, the provider reports its use of the
	// cache, and it looks back far enough to find the prefix.
	isWhole bool
}

// pauses holds the pause before the current pass of each session. The pause is nil if the usage of this pass will prove
// nothing, or has already been evaluated.
var pauses = session.NewSlot[*pause]()

// If a prompt repeats fewer than minRepeatedTokens of the session's messages, its usage proves nothing. The host knows
// the size of the shared part only roughly. So if the provider reports slightly more cached tokens than that, these may
// still belong to the shared part, and not to the messages.
const minRepeatedTokens = 1024

// pauseBefore returns the pause before a pass, or nil if the pass's usage will prove nothing. It must be called
// before the pass updates the session.
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

// NotePause compares the usage of the newest pass with its pause. If at least three quarters of the messages' tokens
// were read from the cache, the prefix was still alive. If it was at most a quarter, the prefix was gone. Anything
// between proves nothing. The margins are wide, because a provider counts tokens differently from the host.
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
