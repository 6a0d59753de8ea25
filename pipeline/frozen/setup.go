package frozen

// Setup holds the decisions about the session as a whole. Only a bust may change a setting that affects the wire.
type Setup struct {
	// Profile is the provider profile of the wire. It changes only on hard passes: if the harness describes the model
	// late, the new profile must not bust a prefix that is still cached.
	Profile string
	// Binds means that the session's model binds its thinking to the exact prompt. It changes on hard passes only.
	Binds bool
	// Preamble is the number of the current version of the preamble. If it changes, all bound thinking becomes invalid.
	Preamble int
	// Gaps says whether the wire shows long pauses between messages.
	Gaps bool
	// Todo is the synthetic todo list, if there is one.
	Todo Todo
}

// A Todo is the synthetic todo list: a copy of the model's todo list at the end of a message. The wire needs this copy
// once the call that wrote the list has been removed.
type Todo struct {
	// MessageKey names the assistant message that carries the list. It is empty if there is no list.
	MessageKey string
	// State is the list as JSON, in the exact form from which the call's id is computed.
	State string
}
