// Package skew tests that one user can run hosts of two releases. The newer host takes over during work, and
// also serves the clients of the older release.
//
// It may import e2e/agent, e2e/mockllm, e2e/opencodetest, e2e/script, e2e/stage, e2e/suite, internal/clock,
// schema and store.
package skew
