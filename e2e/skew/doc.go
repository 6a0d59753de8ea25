// Package skew tests hosts of two releases that belong to the same user. While sessions are active, the newer host
// takes over, and then also serves clients of the older release.
//
// It may import e2e/agent, e2e/mockllm, e2e/opencodetest, e2e/script, e2e/stage, e2e/suite, internal/clock, schema and
// store.
package skew
