// Package dreamer tends the memories of a project. It asks a model which memories say the same, are wrong or are of no use,
// and checks the answer: for example, a merge stays within a category, keeps every path, name and number of the old texts,
// and adds none. A model cannot talk it out of these rules, because they are code.
//
// The package reads no store and changes nothing: the host gives it the memories, and applies the changes.
//
// It may import agents/ask, internal/chronicle and internal/tokens.
package dreamer
