// Package store keeps the durable state of the host in one SQLite file: the
// frozen state of each session (units, edits, queued drops, the chain of the
// last wire), the journal of its passes and what its model was
// told; and what is known of models.
//
// It promises that a write that returned nil survives a killed host, that a
// session is read in one consistent state, and that a file which is not ours,
// is newer than this build or is owned by another host is never written. Its
// row types are its own; internal/host converts. A power cut may lose the last
// few transactions (synchronous=NORMAL) but never corrupts the file.
//
// Writes go through one connection in short immediate transactions, reads
// through a small pool of connections that cannot write. All methods of Store
// are safe for concurrent use.
//
// It may import internal/clock, and nothing else of this module.
package store
