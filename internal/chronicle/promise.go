package chronicle

// A Speaker says whose words a promise contains: the user's or the agent's.
type Speaker string

const (
	ByUser  Speaker = "user"
	ByAgent Speaker = "agent"
)

// A Promise is a sentence that says that something must still happen, or must never happen, for example "TODO before
// the release: remove the flag".
type Promise struct {
	Words string
	By    Speaker
	// Message is the ordinal of the message that contains the sentence.
	Message int
}

// A Closing says that a message has fulfilled or withdrawn an earlier promise.
type Closing struct {
	ID      int64 // of its note
	IsDone  bool
	Message int // ordinal
}
