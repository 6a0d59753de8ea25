package chronicle

// A Call is one question of a hidden agent, for example of the historian, to a model.
type Call struct {
	At        int64  // Unix ms
	Project   string // identity, "" if it is not known
	Directory string
	Agent     string // the agent whose run asked, for example "historian"
	Holder    string // names the run: all calls of a run have the same holder
	Model     string // "provider/model", or "" if it is not known
	// Input counts only tokens that were neither read from the cache nor written to it.
	Input, Output, CacheRead, CacheWrite int
	// Cost is in billionths of a dollar. It is nil if the harness names no price for the model.
	Cost *int64
	// Reserved is the highest possible cost, in billionths of a dollar. It is set only if the real cost is unknown:
	// the call has not ended, was cut off, or the host has crashed.
	Reserved int64
	// Compartments, Memories and Findings are the numbers of results that the call's run has published. For a run of
	// the dreamer, Memories is the number of changed memories that the user has not undone.
	Compartments, Memories, Findings int
}

type Report struct {
	At   int64  `json:"at"` // Unix ms
	Text string `json:"text"`
	// Cost is in billionths of a dollar. It is nil if a price is not known.
	Cost *int64 `json:"cost,omitzero"`
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
	// The run has summarised the messages with the ordinals Start to End. The result was `Produced` compartments.
	Start, End, Produced int
	Fidelity             float64
	// Undoes is the number N for the command "memory restore --run N", which undoes the run's changes of memories. It
	// is 0 if the run made no changes.
	Undoes int
}
