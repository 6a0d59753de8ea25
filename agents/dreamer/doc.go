// Package dreamer tends the memories of a project. It asks a model which memories say the same, and checks the answer:
// a merge stays within a category, and keeps every path, name and number of the old texts. A model cannot talk it out of
// these rules, because they are code.
//
// The package reads no store and changes nothing: the host gives it the memories, and applies the merges.
//
// It may import agents/ask and internal/chronicle.
package dreamer
