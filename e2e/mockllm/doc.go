// Package mockllm is a scripted model that speaks the two wire formats of our harnesses: Anthropic
// Messages and OpenAI chat completions, streamed or not. It answers from a script, reports usage from a
// simulated prompt cache, and keeps every request, as bytes and parsed, for tests to inspect.
//
// It is for tests and for recording traces.
//
// It may import internal/json and internal/promptcache.
package mockllm
