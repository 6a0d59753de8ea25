// Package history makes the head: the messages in front of the tail that replace the older messages of a session. The
// baseline holds the project's documents, the compartments and the memories as they were at the last fold. The
// acknowledgement is the model's short answer to the baseline. The delta holds everything that has changed since the
// fold.
//
// The package also decides which part of the transcript a historian may
// summarise, and when. docs/history.md has the rules and the sources of the
// constants.
//
// The functions are pure: equal inputs give equal bytes. The caller passes the
// times and the token counter.
//
// It may import internal/chronicle, internal/json, pipeline/text, pipeline/transcript and schema.
package history
