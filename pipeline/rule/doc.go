// Package rule holds the rules that propose edits. Each rule is a function that reads a view of
// the session and returns edits. It has its own file and a row in one ordered
// table. A rule only proposes edits, and only a pass that may bust asks it.
//
// It may import pipeline/frozen.
package rule
