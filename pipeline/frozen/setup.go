package frozen

// Setup holds the decisions about the session as a whole. If a setting affects the wire, only a busting pass may
// change it.
type Setup struct {
	// Profile is the provider profile that the wire is rendered for. It changes on hard passes only, so that a late
	// answer of the catalogue does not bust a live prefix.
	Profile string
	// Binds means that the session's model binds its thinking to the exact prompt for which it was produced. It changes
	// on hard passes only.
	Binds bool
	// Preamble numbers the versions of the preamble. A new number makes all bound thinking invalid.
	Preamble int
	// Gaps says whether the wire shows long pauses between messages.
	Gaps bool
	// Todo is the synthetic todo list, if there is one.
	Todo Todo
}

// A Todo is a todo list that the wire shows again at the end of a message,
// because the call that wrote the list is no longer on the wire.
type Todo struct {
	// MessageKey names the assistant message that carries the list. It is empty if there is no list.
	MessageKey string
	// State is the list as JSON, in the exact form from which the call's id is computed.
	State string
}
