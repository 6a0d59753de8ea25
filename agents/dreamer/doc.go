// Package dreamer tends the memories of a project. It asks a model which memories repeat each other, are wrong or are
// useless, and checks the answer: for example, a merge stays within a category, keeps every path, name and number of
// the old texts, and adds none. These rules are code, so no answer can change them.
//
// The package reads no store and changes nothing: the host gives it the memories, and applies the changes.
//
// It may import agents/ask, internal/chronicle and internal/tokens.
package dreamer
