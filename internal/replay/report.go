package replay

import (
	"slices"

	"github.com/magicctx/magicctx-host/internal/promptcache"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/schema"
)

// A Pass is the report about one replayed pass. Tokens is the simulated provider's count. Raw and RawBill are the
// tokens and the bill that the same request would have without magicctx. Times are in ms.
type Pass struct {
	Pass      int            `json:"pass"`
	Session   string         `json:"session"`
	Verdict   schema.Verdict `json:"verdict"`
	Cause     string         `json:"cause,omitempty"`
	Bust      bool           `json:"bust"`
	BustCause string         `json:"bustCause,omitempty"`
	Messages  int            `json:"messages"`
	// PrefixTokens is the size of the longest common prefix of this wire and the previous one.
	PrefixTokens int     `json:"prefixTokens"`
	WireTokens   int     `json:"wireTokens"`
	Pressure     float64 `json:"pressure"`
	Edits        int     `json:"edits"`
	// Size is the prompt size that the pass expected when it decided. Goal is the size that it wanted to reach. Both
	// are in tokens, or 0 if unknown. Price is the estimated cost and gain of the bust, or zero if no rule proposed
	// anything.
	Size  int              `json:"size,omitzero"`
	Goal  int              `json:"goal,omitzero"`
	Price schema.BustPrice `json:"price,omitzero"`
	// LostBlocks counts the bound thinking blocks that the pass invalidated. LostTokens estimates their size.
	LostBlocks int                `json:"lostBlocks,omitzero"`
	LostTokens int                `json:"lostTokens,omitzero"`
	Tokens     promptcache.Tokens `json:"tokens"`
	Raw        promptcache.Tokens `json:"rawTokens"`
	// Sources add up to the prompt in Tokens.
	Sources Sources `json:"sources"`
	// ThresholdTokens is the size from which a pass may bust. Unknown limits are 0.
	WindowTokens    int `json:"windowTokens"`
	ThresholdTokens int `json:"thresholdTokens"`
	// Model is provider/model, or empty if no message names one. Route names the caching rules that the
	// simulated provider uses.
	Model   string  `json:"model,omitempty"`
	Route   string  `json:"route,omitempty"`
	Bill    float64 `json:"bill"`
	RawBill float64 `json:"rawBill"`
	// Alone is the bill if the harness works without magicctx. It covers the request of this pass, and the harness's
	// own compaction before the request, if there is one.
	Alone Alone   `json:"alone"`
	Taken []Taken `json:"taken,omitempty"`
	// Fold says why the pass folded the head, for example "idle". If the pass did not fold, Fold is empty. Head is the
	// head in the pass's wire, and History is the session's summarised history.
	Fold    string                `json:"fold,omitempty"`
	Head    *schema.HeadStatus    `json:"head,omitzero"`
	History *schema.HistoryStatus `json:"history,omitzero"`
	// Published lists the publications of history since the previous pass, oldest first. If the replay uses recorded
	// answers, this pass can itself cause a publication. Published then includes this publication, although only a
	// later wire can show it.
	Published []schema.HistoryPublish `json:"published,omitempty"`
	// HostMS is the time that the host needed for the pass itself. CallMS is the time of the whole call.
	HostMS float64 `json:"hostMs"`
	CallMS float64 `json:"callMs"`

	price schema.Price
	// If isAccepted is true, the recorded provider has answered exactly this prompt. So we know that the prompt fits
	// the model's window.
	isAccepted bool
}

// A Bust is a pass whose wire did not extend the previous one.
type Bust struct {
	Pass    int            `json:"pass"`
	Verdict schema.Verdict `json:"verdict"`
	Cause   string         `json:"cause"`
	// Price is the estimated cost and gain of the bust. It is set only if the pass chose the bust because it pays off.
	Price   schema.BustPrice `json:"price,omitzero"`
	Outcome Outcome          `json:"outcome"`
}

// A Fold is a pass that rendered a new baseline, and so began an epoch.
type Fold struct {
	Pass    int               `json:"pass"`
	Session string            `json:"session"`
	Reason  string            `json:"reason"`
	Head    schema.HeadStatus `json:"head"`
}

// A Publish is a publication of history. Pass is the pass that reports it (see Pass.Published).
type Publish struct {
	Pass    int    `json:"pass"`
	Session string `json:"session"`
	schema.HistoryPublish
}

// A MissedRun is an agent's run that failed in the replay, because the trace does not contain the run's question. This
// happens if the replayed host decides differently from the recorded one, for example because its window is different,
// and so asks a different question.
type MissedRun struct {
	Pass    int    `json:"pass"`
	Session string `json:"session"`
	Agent   string `json:"agent"`
	// Model is "provider/model", or empty if the harness chooses the model.
	Model string `json:"model,omitempty"`
	// Title names the task of the run, for example "history 120-180".
	Title string `json:"title"`
	// PromptBytes is the size of the system prompt and the prompt together.
	PromptBytes int `json:"promptBytes"`
}

type Finding struct {
	Pass   int    `json:"pass"`
	Rule   string `json:"rule"`
	Detail string `json:"detail,omitempty"`
}

type Tokens struct {
	Fresh   int `json:"fresh"`
	Written int `json:"written"`
	Read    int `json:"read"`
}

// Times are percentiles in ms.
type Times struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

type Summary struct {
	// Missing lists facts that influenced the recorded passes but are not in the trace, for example "the
	// configuration". If Missing is not empty, the replay may differ from the recorded session.
	Missing []string `json:"missing"`
	// IsTruncated means that a part of the file was lost after the recording.
	IsTruncated         bool       `json:"isTruncated,omitzero"`
	Passes              int        `json:"passes"`
	Messages            int        `json:"messages"`
	Routes              []string   `json:"routes"` // the routes of the passes, in the order in which they first occur
	Busts               []Bust     `json:"busts"`
	UnexplainedBusts    int        `json:"unexplainedBusts"`
	InvariantViolations []Finding  `json:"invariantViolations"`
	ValidatorHits       []Finding  `json:"validatorHits"`
	Overflows           []Overflow `json:"overflows"`
	Prompts             Prompts    `json:"prompts"`
	Tokens              Tokens     `json:"tokens"`
	RawTokens           Tokens     `json:"rawTokens"`
	Currency            string     `json:"currency"`
	Bill                float64    `json:"bill"`
	RawBill             float64    `json:"rawBill"`
	// Alone is the bill of the harness without magicctx. As long as the harness compacts nothing, it equals RawBill.
	Alone  Alone `json:"alone"`
	HostMS Times `json:"hostMs"`
	// Saved holds the saving of each session, as a status shows it (docs/status.md). A saving subtracts the cost of the
	// historian, but Bill does not include this cost.
	Saved      map[string]schema.Saving `json:"saved,omitempty"`
	Regrets    map[string]Regret        `json:"regrets,omitempty"`
	LostBlocks int                      `json:"lostBlocks,omitzero"`
	LostTokens int                      `json:"lostTokens,omitzero"`
	Folds      []Fold                   `json:"folds,omitempty"`
	Publishes  []Publish                `json:"publishes,omitempty"`
	// AskedRuns is the number of questions that the host asked hidden agents. MissedRuns are the runs whose questions
	// the trace does not contain.
	AskedRuns  int         `json:"askedRuns,omitzero"`
	MissedRuns []MissedRun `json:"missedRuns,omitempty"`
	// Marks is filled only on request. It compares the bills at different settings: the chosen ones, the other values
	// of the setting "spending", and slightly higher or lower marks.
	Marks  []MarksBill `json:"marks,omitempty"`
	Detail []*Pass     `json:"detail"`
}

// A Regret says how much of the removed content the model has read again. Cost is the price of the tokens that were
// read again, or 0 if it is unknown.
type Regret struct {
	Removals []schema.Removal `json:"removals"`
	Cost     float64          `json:"cost,omitzero"`
}

type Report struct {
	Passes              []*Pass
	InvariantViolations []Finding
	ValidatorHits       []Finding
	Missing             []string
	AskedRuns           int
	MissedRuns          []MissedRun
	IsTruncated         bool
	sessions            []func()
	saved               map[string]schema.Saving
	regrets             map[string]Regret
	// unseen is the number of tokens in each prompt that belong to texts outside the trace, mostly definitions of
	// tools.
	unseen int
}

func (r *Report) finish() {
	for _, settle := range r.sessions {
		settle()
	}
}

func (r *Report) Summary() Summary {
	s := Summary{Passes: len(r.Passes), Routes: []string{}, Busts: []Bust{}, InvariantViolations: []Finding{}, ValidatorHits: []Finding{}, Currency: currency, Detail: r.Passes, Missing: []string{}, IsTruncated: r.IsTruncated, AskedRuns: r.AskedRuns, Saved: r.saved, Regrets: r.regrets}
	s.Missing = append(s.Missing, r.Missing...)
	s.MissedRuns = append(s.MissedRuns, r.MissedRuns...)
	s.InvariantViolations = append(s.InvariantViolations, r.InvariantViolations...)
	s.ValidatorHits = append(s.ValidatorHits, r.ValidatorHits...)
	s.Prompts, s.Overflows = promptsOf(r.Passes, r.unseen)
	outcomes := outcomesOf(r.Passes, r.unseen)
	var times []float64
	for _, p := range r.Passes {
		s.Messages = max(s.Messages, p.Messages)
		s.LostBlocks, s.LostTokens = s.LostBlocks+p.LostBlocks, s.LostTokens+p.LostTokens
		if !slices.Contains(s.Routes, p.Route) {
			s.Routes = append(s.Routes, p.Route)
		}
		if p.Bust {
			s.Busts = append(s.Busts, Bust{p.Pass, p.Verdict, p.BustCause, p.PriceOfBust(), outcomes[p]})
		}
		if p.Fold != "" && p.Head != nil {
			s.Folds = append(s.Folds, Fold{p.Pass, p.Session, p.Fold, *p.Head})
		}
		for _, published := range p.Published {
			s.Publishes = append(s.Publishes, Publish{p.Pass, p.Session, published})
		}
		if p.Bust && p.BustCause == pipeline.BustUnexplained {
			s.UnexplainedBusts++
		}
		s.Tokens = s.Tokens.Plus(p.Tokens)
		s.RawTokens = s.RawTokens.Plus(p.Raw)
		s.Bill += p.Bill
		s.RawBill += p.RawBill
		s.Alone.Bill, s.Alone.Compactions = s.Alone.Bill+p.Alone.Bill, s.Alone.Compactions+p.Alone.Compactions
		times = append(times, p.HostMS)
	}
	s.HostMS = timesOf(times)
	return s
}

// Sessions returns one summary per session, in the order of their first passes. Marks and Missing belong to the
// whole trace, so the summaries have none.
func (s Summary) Sessions() []Summary {
	var order []string
	bySession := make(map[string]*Report)
	ofPass := make(map[int]*Report)
	for _, p := range s.Detail {
		r := bySession[p.Session]
		if r == nil {
			r = &Report{unseen: s.Prompts.Unseen}
			if saved, ok := s.Saved[p.Session]; ok {
				r.saved = map[string]schema.Saving{p.Session: saved}
			}
			if regret, ok := s.Regrets[p.Session]; ok {
				r.regrets = map[string]Regret{p.Session: regret}
			}
			bySession[p.Session], order = r, append(order, p.Session)
		}
		r.Passes, ofPass[p.Pass] = append(r.Passes, p), r
	}
	for _, f := range s.InvariantViolations {
		if r := ofPass[f.Pass]; r != nil {
			r.InvariantViolations = append(r.InvariantViolations, f)
		}
	}
	for _, f := range s.ValidatorHits {
		if r := ofPass[f.Pass]; r != nil {
			r.ValidatorHits = append(r.ValidatorHits, f)
		}
	}
	var all []Summary
	for _, id := range order {
		all = append(all, bySession[id].Summary())
	}
	return all
}

// Catalogues quote model prices in US dollars.
const currency = "USD"

func (s Summary) Findings() int {
	return s.UnexplainedBusts + len(s.InvariantViolations) + len(s.ValidatorHits) + len(s.Overflows)
}

func (s Summary) IsClean() bool { return s.Findings() == 0 }

// ReadShare returns the share of the prompts' tokens that the provider read from its cache. Without a prompt it
// is NaN.
func (t Tokens) ReadShare() float64 { return float64(t.Read) / float64(t.Fresh+t.Written+t.Read) }

func (t Tokens) Plus(u promptcache.Tokens) Tokens {
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
