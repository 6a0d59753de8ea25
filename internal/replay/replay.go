package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type Options struct {
	// A nil Log discards the host's log.
	Log *slog.Logger
	// A nil Config means the default configuration.
	Config *schema.Config
	// Mode, Profile and Window (in tokens) replay the trace as if it had been recorded with them. "" and 0 keep
	// the recorded values.
	Mode, Profile string
	Window        int
	// If a field of Marks is zero, the replay keeps the configured value.
	Marks  Marks
	Prices Prices
	// Ask answers the questions to hidden agents. If Ask is nil, the replay uses the recorded answers. They suffice
	// only if the settings are the recorded ones: with other settings, the host asks other questions, and the replay
	// needs Ask. Calls of Ask may be concurrent.
	Ask func(schema.AgentRunParams) schema.AgentRunResult
	// If AsRecorded is true, passes see the usage from the trace. This usage belongs to the recorded prompts, so if the
	// replayed prompts are larger, the passes see too low a pressure. If AsRecorded is false, passes see the usage that
	// the simulated provider counts.
	AsRecorded bool
	// Progress is called after each pass. `done` is the number of finished steps, and `all` is the total number of
	// steps.
	Progress func(done, all int)
	Answered func(schema.WireMutation)
	// Watch is called after each pass with the pass's wire.
	Watch func(Sent)
}

// Prices maps "provider/model" to a price. The key EveryModel stands for all models that have no key of their own.
type Prices map[string]schema.Price

const EveryModel = "*"

// Sent is the wire of a pass, with the data needed to check it.
type Sent struct {
	*Pass
	Profile string
	// Binds means that the model binds its thinking, according to the host.
	Binds  bool
	mirror *mirror
}

// Arrays returns the harness's array, and the array that the shim would send instead.
func (s Sent) Arrays() (raw, wire []json.Value, err error) { return s.mirror.arrays() }

// Check returns an error for settings that no configuration can have.
func (o Options) Check() error {
	if high := o.Marks.High; high != 0 && (high < minHighMark || high > maxHighMark) {
		return fmt.Errorf("the threshold is %g%% of the window; it is from %d to %d", high, minHighMark, maxHighMark)
	}
	if spending := o.Marks.Spending; spending != "" && !slices.Contains(schema.Spendings, spending) {
		return fmt.Errorf("spending is %q; it is frugal, balanced or generous", format.Clean(string(spending)))
	}
	return nil
}

func (p *player) noPrice() error {
	var models []string
	for _, pass := range p.report.Passes {
		if pass.Model != "" && !slices.Contains(models, pass.Model) {
			models = append(models, pass.Model)
		}
	}
	return fmt.Errorf("the list of prices has none for %s; add it, or %q for every other model", format.Clean(cmp.Or(strings.Join(models, " or "), "the models of the trace")), EveryModel)
}

// callTimeout is long, because the machine may be busy. The reported times are measured separately.
const callTimeout = time.Minute

// Run replays the trace in r. It returns an error if it cannot read the trace or if the host refuses the trace.
// A broken invariant is not an error, but a part of the report.
func Run(ctx context.Context, r io.Reader, o Options) (*Report, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	t, err := read(r)
	if err != nil {
		return nil, err
	}
	if len(t.steps) == 0 {
		return nil, ErrNoRequest
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, closePlayer, err := newPlayer(ctx, t, o)
	if err != nil {
		return nil, err
	}
	defer closePlayer()
	if t.cut != "" {
		p.lacks("%s", t.cut)
	}
	p.report.IsTruncated = t.isTruncated
	for i, s := range t.steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := p.play(ctx, s); err != nil {
			return nil, fmt.Errorf("step %d (%s): %w", i+1, s.method, err)
		}
		if o.Progress != nil {
			o.Progress(i+1, len(t.steps))
		}
	}
	if len(o.Prices) > 0 && !p.isPriced {
		return nil, p.noPrice()
	}
	for _, what := range p.unknown {
		p.lacks("%s", what)
	}
	p.lackRuns()
	p.report.finish()
	if err := p.readSavings(ctx); err != nil {
		return nil, err
	}
	p.report.unseen = p.recount.unseen
	return p.report, nil
}
