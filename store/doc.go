// Package store keeps the durable state of the host in one SQLite file. For each session it holds the frozen
// state (units, edits, queued drops, the hash chain of the last wire, the head), the journal of passes, the
// reminders given to the model, and the summarised history. For each project it holds memories. For each
// model it holds limits, prices and observations from usage. docs/database.md lists the tables.
//
// If a write has returned nil, it survives a killed host. Each session is read in one consistent state. A
// power cut may lose the last few transactions (synchronous=NORMAL) but never corrupts the file. The types of
// rows belong to this package, and internal/session converts them, except those of package chronicle and
// schema. Each file of the package holds one aggregate: its rows, its reads and its writes. Package
// store/file handles the database file itself.
//
// Writes go through one connection in short immediate transactions. Reads go
// through a small pool of connections that cannot write. All methods of Store
// are safe for concurrent use.
//
// It may import internal/chronicle, internal/clock, internal/json, schema and store/file.
package store
