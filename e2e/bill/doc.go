// Command bill tells the real OpenCode a story of 60 turns with five tool calls each, in a window of
// 64 k tokens. It does so twice: once with OpenCode's own compaction, once with magicctx and a model that
// never asks for a drop. It prints the costs of both with a simulated prompt cache, and fails if
// magicctx exceeds its bounds.
//
//	go run ./e2e/bill              from the root of the repository
//	go run ./e2e/bill -unbounded   also runs in a window that never fills
//	go run ./e2e/bill -route openai   with a provider that caches by itself, without a fee
//	go run ./e2e/bill -binding         with a model that binds its thinking to the prompt before it
//	go run ./e2e/bill -only magicctx -trace traces
//
// It exits with 1 if a bound is exceeded, and with 2 if it could not measure.
//
// It may import e2e/suite, e2e/stage, e2e/mockllm, e2e/opencodetest, schema and
// internal helpers.
package main
