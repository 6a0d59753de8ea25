// Package rule holds the rules that propose edits. Each rule is a function that reads a view of the session and returns
// edits. Each rule has its own file, and a row in one ordered table. Only a pass that may bust runs the rules.
//
// It may import pipeline/frozen.
package rule
