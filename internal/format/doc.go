// Package format writes numbers, money, times, diffs and foreign text for people. All
// programs and pages of this module use it, so that 12,900 tokens are "12.9k"
// in the status, in a replay and on its page, and so that no text of a harness,
// a model or a file system reaches a terminal unchecked.
//
// It may import nothing of this module.
package format
