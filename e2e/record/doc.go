// Command record records the traces in testdata/traces for `magicctx-host replay`: sessions of the real
// OpenCode and the real Pi with the plugin, a scripted model and a simulated prompt cache. One session has a
// historian, whose answers a replay takes from the trace.
//
//	go run ./e2e/record            from the root of the repository
//	go run ./e2e/record -only short
//
// It may import agents/historian, e2e/agent, e2e/mockllm, e2e/opencodetest, e2e/script, e2e/stage,
// internal/chronicle, internal/promptcache and schema.
package main
