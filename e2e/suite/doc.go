// Package suite holds the common parts of the test packages that start the real OpenCode. It builds the
// product once, provides a root for the files of a test, and skips tests if OpenCode cannot run.
//
// It may import e2e/judge, e2e/mockllm, e2e/opencode2, e2e/pitest, e2e/stage, pipeline/render and schema.
package suite
