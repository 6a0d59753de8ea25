// Package terms splits texts into sentences and into the terms by which they are found, and finds lines that may report a
// failure. Texts and queries are split by the same code, so "Timeouts" finds "timeout", and "storage-db.ts" finds that
// file.
//
// It may import nothing of this module.
package terms
