// Package export copies the rows of sessions from one store through a trace to another store.
//
// It may import store, store/database and store/file.
package export
