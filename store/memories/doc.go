// Package memories keeps the memories of projects, the log of their changes, and the notes that models write for later.
//
// It may import internal/chronicle, internal/format, internal/secret, internal/terms, store/database,
// store/file and store/work.
package memories
