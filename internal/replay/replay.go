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

// Options are the settings of a replay.
type Options struct {
	// Log receives the host's log; nil discards it.
	Log *slog.Logger
	// Config is the configuration to replay with; nil means the default one.
	Config *schema.Config
	// Mode, Profile and Window (in tokens) replay the trace as if it had been recorded in that mode, for a
	// provider with that profile, or with a model with that window. "" and 0 keep the recorded values.
	Mode, Profile string
	Window        int
	// Marks replay with another setting of the dial, or with other marks. Its parts that are zero keep the settings of the
	// configuration.
	Marks Marks
	// Prices replaces recorded prices.
	Prices Prices
	// Ask answers the host's questions to hidden agents. If it is nil, the recorded answers are used. A replay with
	// other settings needs Ask, because its host asks other questions than the recorded host did. Calls of Ask may be
	// concurrent.
	Ask func(schema.AgentRunParams) schema.AgentRunResult
	// AsRecorded keeps the usage in the trace. That usage belongs to the prompts of the recording. If the
	// replayed prompts are larger, their passes see too little pressure. Without AsRecorded, the usage comes
	// from the simulated provider, so that the pressure follows the replayed prompts.
	AsRecorded bool
	// Progress is called after each pass with the number of finished steps and of all steps.
	Progress func(done, all int)
	// Answered is called with the host's answer to each pass.
	Answered func(schema.WireMutation)
	// Watch is called after each pass with the wire of that pass.
	Watch func(Sent)
}

// Prices are prices by "provider/model", or by EveryModel for each other model.
type Prices map[string]schema.Price

// EveryModel is the key of the price of each model that a list does not name.
const EveryModel = "*"

// Sent is the wire of a pass, with the data needed to check it.
type Sent struct {
	*Pass
	// Profile is the name of the pass's provider profile.
	Profile string
	// Binds means that, according to the host, the model binds its thinking to the prompt.
	Binds  bool
	mirror *mirror
}

// Arrays returns the harness's array of the pass, and the array that the shim would send instead.
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

// noPrice says that the options have prices, but none for the models of the trace.
func (p *player) noPrice() error {
	var models []string
	for _, pass := range p.report.Passes {
		if pass.Model != "" && !slices.Contains(models, pass.Model) {
			models = append(models, pass.Model)
		}
	}
	return fmt.Errorf("the list of prices has none for %s; add it, or %q for every other model", format.Clean(cmp.Or(strings.Join(models, " or "), "the models of the trace")), EveryModel)
}

// callTimeout bounds one call of a replay. It is generous because a replay may run beside other work.
// The reported times are measured separately.
const callTimeout = time.Minute

// Run replays the trace in r and returns a report. It returns an error if it cannot read the trace or if the
// host refuses the trace. A broken invariant is not an error: it is part of the report.
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
