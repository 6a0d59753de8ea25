// Package terms splits texts into sentences and into the terms by which they are found, and finds lines that
// may report a failure. The same code splits texts and queries, so "Timeouts" finds "timeout", and
// "storage-db.ts" finds this file.
//
// It may import nothing of this module.
package terms
