// Package script writes the scripts of long, tool-heavy sessions: what the
// scripted model says and does, step by step, against a project made of this
// repository's own files. Everything is a function of the project and a seed,
// so that two runs of a script send the same bytes.
//
// It may import internal/mockllm only.
package script
