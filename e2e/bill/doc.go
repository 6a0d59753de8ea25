// Command bill compares what long sessions cost with magicctx and with OpenCode's own compaction.
//
// A scene is a scripted session, which bill plays in the real OpenCode:
//
//	scene      turns   window
//	64k        60      64,000 tokens
//	200k       80      200,000 tokens
//	1m         120     1,000,000 tokens; large and small outputs, one change of the model, two long pauses
//	1m-drops   120     the same as 1m, but the model asks for drops every 12 steps
//
// Each turn has five tool calls. A long pause lasts longer than the provider keeps a prompt in its cache. Bill plays
// each scene twice: with magicctx, and with OpenCode's compaction. The same scripted model writes the summaries of
// both, so neither has better ones. A simulated cache replaces the provider's cache.
//
// Bill prints both costs, and fails if magicctx costs more than its bounds allow. With -recall, it does not compare
// costs. It counts how many details of the session the model can still read, and how many details magicctx adds to the
// prompt when the user asks about their subject.
//
//	go run ./e2e/bill                      from the root of the repository
//	go run ./e2e/bill -recall              counts details instead of money
//	go run ./e2e/bill -scene 64k           only this scene
//	go run ./e2e/bill -spending frugal     magicctx with another setting of spending; the default is balanced
//	go run ./e2e/bill -reads 0.1,0.05      with other prices of reading from the cache, as shares of the input price
//	go run ./e2e/bill -without-historian   also magicctx without its historian
//	go run ./e2e/bill -unbounded           also runs in a window that never fills
//	go run ./e2e/bill -route openai        with a provider that caches by itself, without a fee
//	go run ./e2e/bill -harness opencode2   in the beta of OpenCode 2 that MAGICCTX_OPENCODE2 names
//	go run ./e2e/bill -binding             with a model that binds its thinking to the prompt before it
//	go run ./e2e/bill -only magicctx -trace traces   records traces of magicctx's runs to the directory
//	go run ./e2e/bill -again FILE          replays a recorded trace at each setting of spending, without OpenCode
//	go run ./e2e/bill -again FILE -window 200000     replays the trace in another window
//
// Bill exits with 1 if magicctx exceeds a bound, and with 2 if it could not measure. If you run it twice with the same
// arguments, the times differ, and the bills differ by less than 0.01 %. The reason is that the session's random id
// selects the examples in the historian's prompt.
//
// It may import agents/historian, e2e/agent, e2e/mockllm, e2e/opencode2, e2e/opencodetest, e2e/script, e2e/stage, internal/chronicle, internal/config,
// internal/format, internal/json, internal/promptcache, internal/replay, internal/route, internal/tokens,
// internal/words, pipeline and schema.
package main
