package frozen

// Setup is what was decided for the session as a whole. What of it shows on the
// wire is, like the edits, only changed by a pass that busts.
type Setup struct {
	// Profile is the provider profile that the wire is rendered for. It changes
	// on hard passes only: a catalogue that answers late must not cost a prefix.
	Profile string
	// Gaps says whether pauses between messages are shown.
	Gaps bool
	// Todo is the synthetic todo list, if there is one.
	Todo Todo
	// ReclaimUpTo is the highest tag that has seen a pass which could have
	// dropped it: the grace of the two-pass reclaim (spec transform §17). It
	// shows nowhere on the wire, so it moves on passes that end up steady too.
	ReclaimUpTo int
}

// Todo is a todo list that is shown again at the end of a message, because the
// call that wrote it is no longer on the wire (spec transform §22).
type Todo struct {
	// MessageKey is the assistant message that carries it; empty for none.
	MessageKey string
	// State is the list as JSON, in the form whose hash is the call's id.
	State string
}
