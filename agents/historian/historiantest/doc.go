// Package historiantest holds historians for tests: a good one, and a corpus of
// bad ones that answer garbage, too late, or not at all. Each is an ask.Asker
// that reads the range of messages from the prompt.
//
// It may import agents/ask and agents/historian.
package historiantest
