// Package suite holds the common parts of the test packages that start the real OpenCode: the build of the
// product, a directory for each test, and the reasons to skip a test.
//
// It may import e2e/judge, e2e/mockllm, e2e/opencode2, e2e/pitest, e2e/stage, pipeline/render and schema.
package suite
