package host

import (
	"context"
	"time"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/route"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

// cacheLife returns our estimate of how long an unused prefix of a model stays cached, with the model's
// route. npm is the name of the package through which the harness calls the provider.
func (h *Host) cacheLife(ctx context.Context, harness string, cfg schema.Config, m schema.Model, npm string) route.Belief {
	configured := config.CacheTTL(cfg, m.Provider, m.ID)
	b := route.Of(m, npm).Believe(configured, h.learnedLife(ctx, m), h.keptWarm(harness))
	b.Route.Cliff = CliffOf(cfg, m)
	return b
}

// CliffOf returns the cliff in the prices of a model: the user's, or else the known one.
func CliffOf(cfg schema.Config, m schema.Model) route.Cliff {
	if above, factor, isSet := config.PriceCliff(cfg, m.Provider, m.ID); isSet {
		return route.Cliff{Above: above, Factor: factor}
	}
	return route.Of(m, "").Cliff
}

// keptWarm returns how long a harness keeps idle prefixes warm, as its clients reported it. It returns 0 if
// the harness does not.
func (h *Host) keptWarm(harness string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	longest := time.Duration(0)
	for _, c := range h.clients {
		if string(c.harness) == harness {
			longest = max(longest, c.keptWarm)
		}
	}
	return longest
}

// learnedLife returns the cache life that usage has shown for a model.
func (h *Host) learnedLife(ctx context.Context, m schema.Model) route.Learned {
	if m.ID == "" {
		return route.Learned{}
	}
	life, err := h.lives.of(m, func() (route.Learned, error) {
		row, err := h.Store.CacheLife(ctx, m.Provider, m.ID)
		return learnedFromRow(row), err
	})
	if err != nil {
		h.Log.Warn("cache life of a model not read", "provider", m.Provider, "model", m.ID, "error", err)
		return route.Learned{}
	}
	return life
}

// learnLife changes the learned life of a model.
func (h *Host) learnLife(ctx context.Context, m schema.Model, change func(route.Learned) route.Learned) error {
	known := func() route.Learned { return h.learnedLife(ctx, m) }
	return h.lives.change(m, known, change, func(before, after route.Learned) error {
		if after.Life != before.Life {
			h.Log.Info("cache life learned", "provider", m.Provider, "model", m.ID, "life", after.Life, "before", before.Life, "missed", after.Missed)
		}
		return h.Store.SaveCacheLife(ctx, rowFromLearned(m, after))
	})
}

// A pause is a prediction by a pass: how much of its prompt the provider will read from its cache. The usage
// that comes with the answer shows whether the prefix was still alive.
type pause struct {
	model schema.Model
	npm   string
	// The cache was idle for atLeast to atMost before the request.
	atLeast, atMost time.Duration
	// shared is the number of tokens before the first message, for example the system prompt. Other sessions
	// keep this part alive as well. kept is the size of the messages that are unchanged since the last
	// request.
	shared, kept int
	// isWhole says that kept covers the whole last wire. Then a miss proves that the prefix was too old: the
	// provider has reported cache reads before, and the prefix lies within the reach of its look-back.
	isWhole bool
}

// minRepeatedTokens is the least number of message tokens that a prompt must repeat before its usage tells
// whether the cache survived a pause. If a prompt repeats fewer, we cannot tell a read of the messages from a
// read of the shared part, because the size of the shared part is only an estimate.
const minRepeatedTokens = 1024

// pauseBefore returns the pause before the pass, or nil if the pass's usage will prove nothing. It must be
// called before the pass updates the session.
func (ps *pass) pauseBefore() *pause {
	pipe, w := ps.s.pipe, ps.wire
	usage, completed, ok := pipe.Answer()
	sent := ps.s.wireTokens
	if !w.Bust {
		sent = w.PrefixTokens
	}
	if !ok || completed > ps.at || sent == 0 || w.PrefixTokens < minRepeatedTokens || ps.decision.Model != pipe.Meta.Model || ps.h.keptWarm(ps.s.key.Harness) > 0 {
		return nil
	}
	r, blocks := route.Of(ps.decision.Model, ps.limits.NPM), 0
	for i := range w.Rendered {
		blocks += len(w.Rendered[i].Wire.Blocks)
	}
	return &pause{
		model: ps.decision.Model, npm: ps.limits.NPM,
		atLeast: time.Duration(ps.at-completed) * time.Millisecond,
		atMost:  time.Duration(ps.at-pipe.Meta.At) * time.Millisecond,
		shared:  max(0, usage.Prompt()-sent), kept: w.PrefixTokens,
		isWhole: !w.Bust && usage.CacheRead+usage.CacheWrite > 0 && usage.Prompt() >= 2*r.MinTokens && (r.Lookback == 0 || blocks <= r.Lookback),
	}
}

// notePause compares the usage of the newest pass with the predicted cache read. It does so once per pass. If
// three quarters of the messages' tokens were read, the messages count as read. If less than a quarter was
// read, they count as missed. The margins are wide because providers count tokens with other vocabularies
// than ours.
func (h *Host) notePause(ctx context.Context, s *session, m schema.Model, u transcript.Usage) error {
	p := s.pause
	if p == nil || u.Prompt() == 0 {
		return nil
	}
	s.pause = nil
	if m != p.model {
		return nil
	}
	r, now := route.Of(p.model, p.npm), h.Clock.Now()
	switch {
	case u.CacheRead >= p.shared+p.kept*3/4:
		return h.learnLife(ctx, m, func(l route.Learned) route.Learned { return l.Read(r, p.atLeast, now) })
	case p.isWhole && u.CacheRead <= p.shared+p.kept/4:
		return h.learnLife(ctx, m, func(l route.Learned) route.Learned { return l.Miss(r, p.atMost, now) })
	}
	return nil
}

func learnedFromRow(r store.CacheLifeRow) route.Learned {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return route.Learned{Life: ms(r.LifeMS), Missed: r.Missed, At: r.At, Misses: r.Misses, Least: ms(r.LeastMS), Most: ms(r.MostMS)}
}

func rowFromLearned(m schema.Model, l route.Learned) store.CacheLifeRow {
	return store.CacheLifeRow{
		Provider: m.Provider, Model: m.ID, LifeMS: l.Life.Milliseconds(), Missed: l.Missed, At: l.At,
		Misses: l.Misses, LeastMS: l.Least.Milliseconds(), MostMS: l.Most.Milliseconds(),
	}
}
