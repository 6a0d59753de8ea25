// Package export copies the rows of sessions from one store to another, by way of a trace.
//
// It may import store, store/database and store/file.
package export
