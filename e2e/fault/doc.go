// Package fault tests what a user lives with when the host is in trouble: the
// real OpenCode with the bundled shim, over a host that is missing, hangs,
// crashes, or cannot use its store. Asserted are the prompt that the provider
// received, that it did not wait, the one notice, what status and doctor say of
// it, and that the next pass after the cause is gone is as any other, in the same
// OpenCode process.
//
// It may import e2e/stage and what that may import, internal/mockllm and internal/doctor. The
// tests need node_modules, as those of e2e do.
package fault
