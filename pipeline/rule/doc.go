// Package rule holds the rules: each is a function from a read-only view to
// edits, one file per rule, named in one ordered table. A rule only proposes,
// and it is only asked on a pass that may bust.
//
// It may import pipeline/frozen and pipeline/text.
package rule
