// Package memories keeps the memories of projects, and the log of their changes.
//
// It may import internal/chronicle, store/database and store/file.
package memories
