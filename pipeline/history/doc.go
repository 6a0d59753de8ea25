// Package history makes the head: the messages in front of the tail that replace the older messages of a session. The
// baseline shows the project's documents, the compartments and the memories at the last fold. The acknowledgement is
// the model's short answer to the baseline. The delta shows the changes since the fold.
//
// The package also decides which messages a historian may summarise, and when (docs/history.md).
//
// The functions are pure: the caller also passes the times and the token counter.
//
// It may import internal/chronicle, internal/json, pipeline/text, pipeline/transcript and schema.
package history
