// Package store keeps the durable state of the host in one SQLite file. It holds the sessions: the frozen state (units,
// edits, queued drops, the hash chain of the last wire, the head), the journal of passes, the reminders given to the
// model, and the summarised history. Facts that outlive a session have packages of their own, which a Store puts
// together: store/memories, store/models and store/work. docs/database.md lists the tables.
//
// If a write has returned nil, it survives a killed host. Each session is read in one consistent state. A power
// cut may lose the last few transactions (synchronous=NORMAL) but never corrupts the file. This package
// declares most types of rows, and internal/session converts them. The other types belong to packages chronicle
// and schema. Each file of the package holds one aggregate: its rows, its reads and its writes. All methods of
// Store are safe for concurrent use.
//
// It may import internal/chronicle, internal/json, schema, store/database, store/file, store/memories, store/models,
// store/pieces and store/work.
package store
