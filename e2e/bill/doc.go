// Command bill compares the costs of long sessions with magicctx and with OpenCode's own compaction. It plays
// scripted sessions in the real OpenCode: 60 turns in a window of 64,000 tokens, 80 turns in a window of 200,000,
// and 120 turns in a window of 1,000,000. The last one mixes large and small outputs, changes the model once, and
// pauses twice for longer than the provider keeps a prompt. Each turn has five tool calls, and the scripted model
// never asks for a drop; a fourth session is like the third, but the model asks every 12 steps. Bill plays each
// session twice: once with magicctx, and once with OpenCode's compaction. One scripted summariser answers both
// OpenCode's compaction and magicctx's historian, so that neither has the better model. A simulated prompt cache
// stands for the provider's.
//
// Bill prints both costs, and fails if magicctx exceeds its bounds. With -recall, it instead counts how many
// details of the session the model can still read.
//
//	go run ./e2e/bill                      from the root of the repository
//	go run ./e2e/bill -recall              counts the needles instead of the money
//	go run ./e2e/bill -scene 64k           one of the windows: 64k, 200k, 1m or 1m-drops
//	go run ./e2e/bill -spending frugal     magicctx with another setting of the dial; balanced is the default
//	go run ./e2e/bill -reads 0.1,0.05      with other prices of reading from the cache, as shares of the input price
//	go run ./e2e/bill -without-historian   also magicctx without its historian
//	go run ./e2e/bill -unbounded           also runs in a window that never fills
//	go run ./e2e/bill -route openai        with a provider that caches by itself, without a fee
//	go run ./e2e/bill -binding             with a model that binds its thinking to the prompt before it
//	go run ./e2e/bill -only magicctx -trace traces   records traces of magicctx's runs to the directory
//	go run ./e2e/bill -again FILE          plays such a trace at each setting of the dial, without OpenCode
//	go run ./e2e/bill -again FILE -window 200000     the same in another window
//
// Bill exits with 1 if magicctx exceeds a bound, and with 2 if it could not measure. The same arguments give
// the same figures, except for the times and for the examples in the historian's prompts, which depend on the
// random id of the session (less than 0.01 % of the bill).
//
// It may import agents/historian, e2e/mockllm, e2e/opencodetest, e2e/stage, internal/config, internal/format,
// internal/json, internal/promptcache, internal/replay, internal/route, internal/tokens, pipeline and schema.
package main
