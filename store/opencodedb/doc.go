// Package opencodedb reads the database in which OpenCode 1.18 or 2 keeps its sessions, and writes only
// compaction markers. docs/raw-history.md says where the database is and which of its tables are read.
//
// It may import internal/json and store/file.
package opencodedb
