package replay

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// A Pass is what one pass did. Tokens are those of the simulated provider; Raw
// and RawBill are for the same request without magicctx. Times are ms.
type Pass struct {
	Pass      int            `json:"pass"`
	Session   string         `json:"session"`
	Verdict   schema.Verdict `json:"verdict"`
	Cause     string         `json:"cause,omitempty"`
	Bust      bool           `json:"bust"`
	BustCause string         `json:"bustCause,omitempty"`
	Messages  int            `json:"messages"`
	// PrefixTokens is how much of the last wire this one begins with.
	PrefixTokens int     `json:"prefixTokens"`
	WireTokens   int     `json:"wireTokens"`
	Pressure     float64 `json:"pressure"`
	Edits        int     `json:"edits"`
	// Size is the prompt that the pass decided on, Goal what it wanted to get
	// down to, both in tokens and 0 if unknown; Price is what its bust costs and
	// gains, zero when no rule proposed anything.
	Size   int                `json:"size,omitzero"`
	Goal   int                `json:"goal,omitzero"`
	Price  schema.BustPrice   `json:"price,omitzero"`
	Tokens promptcache.Tokens `json:"tokens"`
	Raw    promptcache.Tokens `json:"rawTokens"`
	// Sources add up to the prompt of Tokens.
	Sources Sources `json:"sources"`
	// WindowTokens is the model's limit for a prompt, ThresholdTokens the part
	// of it from which a pass may bust; both are 0 when the limit is unknown.
	WindowTokens    int `json:"windowTokens"`
	ThresholdTokens int `json:"thresholdTokens"`
	// Model is provider/model; empty when no message names one.
	Model   string  `json:"model,omitempty"`
	Bill    float64 `json:"bill"`
	RawBill float64 `json:"rawBill"`
	// HostMS is the time in the pass itself, CallMS that of the whole call.
	HostMS float64 `json:"hostMs"`
	CallMS float64 `json:"callMs"`
}

// A Bust is a pass whose wire was no extension of the last one.
type Bust struct {
	Pass    int            `json:"pass"`
	Verdict schema.Verdict `json:"verdict"`
	Cause   string         `json:"cause"`
	// Price is that of a bust of ours; zero for others.
	Price schema.BustPrice `json:"price,omitzero"`
}

// A Finding is something that must not be.
type Finding struct {
	Pass   int    `json:"pass"`
	Rule   string `json:"rule"`
	Detail string `json:"detail,omitempty"`
}

// Tokens are sums over the passes.
type Tokens struct {
	Fresh   int `json:"fresh"`
	Written int `json:"written"`
	Read    int `json:"read"`
}

// Times are percentiles, ms.
type Times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

// A Summary is the result of a replay.
type Summary struct {
	Passes              int       `json:"passes"`
	Messages            int       `json:"messages"`
	Busts               []Bust    `json:"busts"`
	UnexplainedBusts    int       `json:"unexplainedBusts"`
	InvariantViolations []Finding `json:"invariantViolations"`
	ValidatorHits       []Finding `json:"validatorHits"`
	Tokens              Tokens    `json:"tokens"`
	RawTokens           Tokens    `json:"rawTokens"`
	Bill                float64   `json:"bill"`
	RawBill             float64   `json:"rawBill"`
	HostMS              Times     `json:"hostMs"`
	// Marks is what the trace costs at the water marks and around them, if that
	// was asked for.
	Marks  []MarksBill `json:"marks,omitempty"`
	Detail []*Pass     `json:"detail"`
}

// A Report is what a replay found.
type Report struct {
	Passes              []*Pass
	InvariantViolations []Finding
	ValidatorHits       []Finding
	sessions            []func()
}

// finish bills what is left open.
func (r *Report) finish() {
	for _, settle := range r.sessions {
		settle()
	}
}

// Summary adds the passes up.
func (r *Report) Summary() Summary {
	s := Summary{Passes: len(r.Passes), Busts: []Bust{}, InvariantViolations: []Finding{}, ValidatorHits: []Finding{}, Detail: r.Passes}
	s.InvariantViolations = append(s.InvariantViolations, r.InvariantViolations...)
	s.ValidatorHits = append(s.ValidatorHits, r.ValidatorHits...)
	var times []float64
	for _, p := range r.Passes {
		s.Messages = max(s.Messages, p.Messages)
		if p.Bust {
			s.Busts = append(s.Busts, Bust{p.Pass, p.Verdict, p.BustCause, p.priceOfBust()})
		}
		if p.Bust && p.BustCause == pipeline.BustUnexplained {
			s.UnexplainedBusts++
		}
		s.Tokens = s.Tokens.plus(p.Tokens)
		s.RawTokens = s.RawTokens.plus(p.Raw)
		s.Bill += p.Bill
		s.RawBill += p.RawBill
		times = append(times, p.HostMS)
	}
	s.HostMS = timesOf(times)
	return s
}

// IsClean reports whether nothing was found that must not be.
func (s Summary) IsClean() bool {
	return s.UnexplainedBusts == 0 && len(s.InvariantViolations) == 0 && len(s.ValidatorHits) == 0
}

func (t Tokens) plus(u promptcache.Tokens) Tokens {
	return Tokens{t.Fresh + u.Fresh, t.Written + u.Write, t.Read + u.Read}
}

func timesOf(ms []float64) Times {
	if len(ms) == 0 {
		return Times{}
	}
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[int(q*float64(len(ms)-1)+0.5)] }
	return Times{P50: at(0.5), P95: at(0.95), Max: ms[len(ms)-1]}
}
