// Package opencodedb reads the database in which OpenCode 1.18 keeps its sessions. It writes only compaction
// markers. docs/raw-history.md says where the database lies and which of its tables are read.
//
// It may import store/file and internal/json.
package opencodedb
