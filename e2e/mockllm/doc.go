// Package mockllm is a scripted model that speaks two wire formats: Anthropic Messages and OpenAI chat
// completions, streamed or not. It answers from a script, reports usage from a simulated prompt cache, and
// keeps every request for tests. The recorder of traces uses it, too.
//
// It may import internal/json and internal/promptcache.
package mockllm
