package chronicle

// A Speaker is whose words a promise holds.
type Speaker string

const (
	ByUser  Speaker = "user"
	ByAgent Speaker = "agent"
)

// A Promise is a sentence that says that something must still happen, or must never, for example "TODO before the release:
// remove the flag".
type Promise struct {
	Words string
	By    Speaker
	// Message is the ordinal of the message in which it stands.
	Message int
}

// A Closing says that a message has done or withdrawn an earlier promise.
type Closing struct {
	ID      int64 // of its note
	IsDone  bool
	Message int // ordinal
}
