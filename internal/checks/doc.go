// Package checks tests what memories claim about files. It works in the background, only reads files, and marks a memory
// as doubtful if its check fails.
//
// It may import internal/background, internal/chronicle, internal/clock, internal/pass, internal/project,
// internal/regular, internal/session and store.
package checks
