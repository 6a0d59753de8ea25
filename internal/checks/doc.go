// Package checks tests in the background what memories claim about files of the project, and marks those that fail as doubtful.
// It only reads.
//
// It may import internal/background, internal/chronicle, internal/clock, internal/pass, internal/project,
// internal/regular, internal/session and store.
package checks
