// Package historiantest holds historians for tests: a good historian, and a corpus of bad historians. The bad
// historians answer garbage, answer too late, or do not answer at all. Each historian is an ask.Asker that finds in the
// prompt which messages it has to summarise.
//
// It may import agents/ask, agents/historian and internal/chronicle.
package historiantest
