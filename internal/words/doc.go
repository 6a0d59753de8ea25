// Package words says the facts of a session's status in words. The screen, the command /ctx-status, and a replay use
// the same words.
//
// It may import internal/format and schema.
package words
