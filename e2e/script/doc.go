// Package script writes the scripts of long sessions with many tool calls: the texts and calls of the model,
// step by step, for a project with this repository's files. A script depends only on the project and a seed, so
// that two runs send the same bytes.
//
// It may import e2e/mockllm.
package script
