package route

import (
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

// A Belief is the current estimate of how long an unused prefix stays cached, with its source.
type Belief struct {
	Route  Route
	Life   time.Duration
	Source schema.CacheLifeSource
}

// Believe estimates how long an unused prefix lives. A life that the user has configured always wins. Otherwise,
// Believe takes the estimate from the table and from reported usage, or the time for which the harness keeps an idle
// prefix warm (`keptWarm`), whichever is longer.
func (r Route) Believe(configured *time.Duration, l Learned, keptWarm time.Duration) Belief {
	if configured != nil {
		return Belief{r.Lasting(*configured), *configured, schema.CacheLifeConfig}
	}
	b := r.learned(l)
	if keptWarm > b.Life {
		b.Life, b.Source = keptWarm, schema.CacheLifeHarness
	}
	return b
}

// The method `learned` estimates the life from the table and from reported usage alone. Read and Miss compare a later
// pause with this estimate.
func (r Route) learned(l Learned) Belief {
	if l.Life <= 0 {
		return Belief{r, r.Life, schema.CacheLifeRoute}
	}
	life := min(max(l.Life, r.Shortest), r.Longest)
	source := schema.CacheLifeRead
	if l.Missed {
		source = schema.CacheLifeMissed
	}
	return Belief{r.Lasting(life), life, source}
}

// Reason describes the source of the estimate to a person, for example "Anthropic's default".
func (b Belief) Reason() string {
	switch b.Source {
	case schema.CacheLifeConfig:
		return "configured"
	case schema.CacheLifeRead:
		return "learned: a prefix was read after " + format.Span(b.Life)
	case schema.CacheLifeMissed:
		return "learned: prefixes were gone after " + format.Span(b.Life)
	case schema.CacheLifeHarness:
		return "the harness keeps it warm"
	}
	return b.Route.Title
}

// A life is shortened after missesToShorten misses in a row. A single read proves that a prefix lived. A miss is only a
// hint: the request may have reached another machine, a tool definition may have changed, or the provider's cache may
// be full. Even if one pause in five ended with such a false miss, three of them in a row would happen in less than one
// of a hundred cases.
const missesToShorten = 3

// Learned is what reported usage has shown about the life of a model's prefixes. The zero value knows nothing.
type Learned struct {
	// Life is 0 until something was learned. If Missed is true, misses have shortened the life. If not, a read has
	// lengthened it. At is the time of this change, in Unix ms.
	Life   time.Duration
	Missed bool
	At     int64
	// Misses counts the misses since the last read that contradicted them. Least is the shortest pause before one of
	// these misses, and Most is the longest.
	Misses      int
	Least, Most time.Duration
}

// Read records that the provider could still read a prefix after a pause, and returns the new state. The read proves
// that the prefix lived that long, so it may lengthen the life. The life never exceeds the longest life that the
// provider documents.
func (l Learned) Read(r Route, pause time.Duration, at int64) Learned {
	if l.Misses > 0 && pause >= l.Least {
		l.Misses, l.Least, l.Most = 0, 0, 0 // the prefix has lived longer than one of the missed pauses, so the misses had other causes
	}
	if life := min(pause, r.Longest); life > r.learned(l).Life {
		l.Life, l.Missed, l.At = life, false, at
	}
	return l
}

// Miss records that the provider no longer had a prefix after a pause, and returns the new state. After enough misses,
// the life is shortened to the longest of their pauses, because a longer life would contradict all of these misses.
func (l Learned) Miss(r Route, pause time.Duration, at int64) Learned {
	if pause < r.Shortest || pause >= r.learned(l).Life {
		return l
	}
	if l.Misses == 0 || pause < l.Least {
		l.Least = pause
	}
	l.Misses, l.Most = l.Misses+1, max(l.Most, pause)
	if l.Misses < missesToShorten {
		return l
	}
	return Learned{Life: l.Most, Missed: true, At: at}
}
