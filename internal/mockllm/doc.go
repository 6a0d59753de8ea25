// Package mockllm is a scripted model behind the two wire formats that our
// harnesses speak: Anthropic Messages and OpenAI chat completions, streamed or
// not. It answers what the script says, reports usage from a simulated prompt
// cache, and keeps every request, bytes and parsed, for the test to look at.
//
// It is for tests and for recording traces. It may import internal/json and
// internal/promptcache only.
package mockllm
