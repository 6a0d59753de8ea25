// Package checks tests what memories claim about files, and the conditions of notes. It works in the background
// and only reads. It marks a memory as doubtful if its check fails, and a note as ready if its condition holds.
//
// It may import internal/background, internal/chronicle, internal/clock, internal/pass, internal/project,
// internal/regular, internal/session, internal/terms, store, store/index and store/memories.
package checks
