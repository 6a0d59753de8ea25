package chronicle

// A Call is a question of a hidden agent to a model, for example of the historian.
type Call struct {
	At        int64  // Unix ms
	Project   string // identity, "" if it is not known
	Directory string
	Agent     string // the agent whose run asked, for example "historian"
	Model     string // "provider/model", or "" if it is not known
	// Input counts only tokens that were neither read from the cache nor written to it.
	Input, Output, CacheRead, CacheWrite int
	// Cost is in billionths of a dollar. It is nil if the harness names no price for the model.
	Cost *int64
	// Reserved replaces an unknown Cost: the call has not ended, was cut off, or the host has crashed. Otherwise,
	// Reserved is 0.
	Reserved int64
	// Compartments, Memories and Findings count what the call's run has published.
	Compartments, Memories, Findings int
}

type Report struct {
	At   int64  `json:"at"` // Unix ms
	Text string `json:"text"`
}

// Dollar is $1 in billionths. In this unit, costs are whole numbers and sums are exact.
const Dollar = 1_000_000_000

type Run struct {
	Agent, Kind, Status, Reason, Model string
	StartedAt, EndedAt                 int64 // Unix ms
	// Session and Title are empty if the run was for the whole Project.
	Session, Title     string
	Project, Directory string
	Tokens             int
	// Cost is in billionths of a dollar. It is nil if a price is not known.
	Cost *int64
	// The run has summarised the messages from Start to End in Produced compartments.
	Start, End, Produced int
	Fidelity             float64
	// Undoes is the number by which the user can undo the run's changes of memories, or 0.
	Undoes int
}
