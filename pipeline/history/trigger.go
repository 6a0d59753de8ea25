package history

// A TriggerReason says why a run of the historian begins, or why no run begins.
type TriggerReason string

const (
	// RunForced: usage has reached ForceUsage.
	RunForced TriggerReason = "force-80"
	// RunForCommits: the model has finished several tasks, each with a commit.
	RunForCommits TriggerReason = "commit-clusters"
	// RunForSize: the messages since the last compartment have much text.
	RunForSize TriggerReason = "tail-size"
	// RunForRent: sending the messages before the tail again and again has cost as much as a run that summarises them.
	RunForRent TriggerReason = "rent"
	// RunForHeadroom: usage is near the execute threshold, and drops will not help enough.
	RunForHeadroom TriggerReason = "projected-headroom"
)

const (
	// NoRunBesideAnother: another run is in progress.
	NoRunBesideAnother TriggerReason = "running"
	// NoRunNothingNew: compartments cover all messages.
	NoRunNothingNew TriggerReason = "nothing-new"
	// NoRunSmall: the messages without a compartment have fewer tokens than the trigger budget.
	NoRunSmall TriggerReason = "small"
	// NoRunAllTail: all messages without a compartment belong to the protected tail.
	NoRunAllTail TriggerReason = "nothing-eligible"
	// NoRunDropsSuffice: even without a run, the next bust drops enough.
	NoRunDropsSuffice TriggerReason = "drops-suffice"
	// NoRunNoPressure: usage is more than proactiveRange below the execute threshold.
	NoRunNoPressure TriggerReason = "no-pressure"
	// NoRunLittleToSay: the eligible messages hold too little for a compartment.
	NoRunLittleToSay TriggerReason = "little-to-say"
)

// TriggerFacts are the facts from which Trigger decides whether a run begins.
type TriggerFacts struct {
	Situation
	// IsRunning means that a run of this session is in progress.
	IsRunning bool
	// Waiting describes the drops that wait for the next bust.
	Waiting WaitingDrops
	// A run begins when there are MinClusters commit clusters. If MinClusters is 0, commits never begin a run.
	MinClusters int
	// Pays reports whether a run that reads this many tokens would pay off. This is so if the rent of the messages
	// before the tail has reached the price of the run. If Pays is nil, no run begins for rent.
	Pays func(tokens int) bool
	// Count counts the tokens of a text.
	Count func(string) int
}

// WaitingDrops says how much of the prompt the next bust removes, even without new summaries.
type WaitingDrops struct {
	// Active is the size of the prompt in tokens. Going is the size of the part that the next bust removes.
	Active, Going int
}

// The method `after` returns the usage that is left after the next bust. ok is false if no content waits for the bust.
func (w WaitingDrops) after(usage float64) (projected float64, ok bool) {
	if w.Active <= 0 || w.Going <= 0 {
		return 0, false
	}
	return usage * (1 - min(1, float64(w.Going)/float64(w.Active))), true
}

// A TriggerResult is the trigger's decision for one pass.
type TriggerResult struct {
	// Runs means that a run begins. The run then summarises the messages in Snapshot.
	Runs     bool
	Reason   TriggerReason
	Snapshot Snapshot
	// ChunkTokens and CommitClusters describe the condensed text that the trigger has read.
	ChunkTokens, CommitClusters int
}

const (
	// The trigger condenses messages up to sizeFactor times the trigger budget, or up to leastTokens if this is more.
	leastTokens = 6000
	// A run begins if the condensed text reaches sizeFactor times the trigger budget.
	sizeFactor = 3
	// If drops bring the usage down to 75 % of the execute threshold, no run is needed.
	dropsSuffice = 0.75
)

// IsSmall reports whether the messages without a compartment are too small for a run. Collecting these messages takes
// time, but IsSmall needs only their size in tokens. So a pass calls IsSmall first.
func IsSmall(tokens, limit int, threshold, usage float64) bool {
	return usage < min(threshold-proactiveRange, ForceUsage) && tokens < TriggerBudget(limit, threshold)
}

// Trigger decides whether a run of the historian begins. docs/history.md has the rules in their order.
func Trigger(f TriggerFacts) TriggerResult {
	m, uncovered := f.Messages, FirstUncovered(f.Covered)
	switch {
	case f.IsRunning:
		return TriggerResult{Reason: NoRunBesideAnother}
	case m.find(uncovered) == len(m.list):
		return TriggerResult{Reason: NoRunNothingNew}
	case !f.pays(0) && IsSmall(m.Tokens(uncovered, m.Total()+1), f.Limit, f.Threshold, f.Usage):
		return TriggerResult{Reason: NoRunSmall}
	}
	r := TriggerResult{Snapshot: f.Snapshot(Request{})}
	if f.Usage >= ForceUsage {
		r.force(f)
		return r
	}
	r.weigh(f)
	return r
}

// The method `force` decides from the force level on. If no message is eligible, it shrinks the protected tail.
func (r *TriggerResult) force(f TriggerFacts) {
	if f.dropsSuffice() {
		r.Reason = NoRunDropsSuffice
		return
	}
	if !r.Snapshot.IsRunnable() {
		r.Snapshot = f.Snapshot(Request{Scale: Scale(f.Usage)})
	}
	r.Runs, r.Reason = r.Snapshot.IsRunnable(), RunForced
	if !r.Runs {
		r.Reason = NoRunAllTail
	}
}

// weigh decides whether a run begins. It looks at the size of the condensed text, because raw sizes would mislead: a
// large file adds little to a summary. In a small window, one run reads less text than the threshold for starting a
// run. So weigh condenses more messages than one run would read.
func (r *TriggerResult) weigh(f TriggerFacts) {
	if !r.Snapshot.IsRunnable() {
		r.Reason = NoRunAllTail
		return
	}
	budget := TriggerBudget(f.Limit, f.Threshold)
	s := &r.Snapshot
	c := ReadChunk(f.Messages, s.Start, s.TailStart, max(leastTokens, sizeFactor*budget), f.Count)
	r.ChunkTokens, r.CommitClusters = c.Tokens, c.CommitClusters
	switch {
	case f.MinClusters > 0 && c.CommitClusters >= f.MinClusters && c.Tokens >= budget:
		r.Reason = RunForCommits
	case c.Tokens >= sizeFactor*budget, c.HasMore:
		r.Reason = RunForSize
	case f.pays(c.Tokens):
		r.Reason = RunForRent
	case f.Usage < f.Threshold-proactiveRange:
		r.Reason = NoRunNoPressure
		return
	case f.dropsSuffice():
		r.Reason = NoRunDropsSuffice
		return
	case c.Tokens < budget: // a short text is not worth a run, which also reads instructions and references
		r.Reason = NoRunLittleToSay
		return
	default:
		r.Reason = RunForHeadroom
	}
	r.Runs = true
}

func (f *TriggerFacts) dropsSuffice() bool {
	projected, ok := f.Waiting.after(f.Usage)
	return ok && projected <= dropsSuffice*f.Threshold
}

func (f *TriggerFacts) pays(tokens int) bool { return f.Pays != nil && f.Pays(tokens) }
