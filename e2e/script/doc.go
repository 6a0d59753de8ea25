// Package script writes the scripts of long sessions with many tool calls. A script lists the texts and
// calls of the model, step by step, for a project that consists of this repository's own files. It
// depends only on the project and a seed, so that two runs of a script send the same bytes.
//
// It may import e2e/mockllm.
package script
