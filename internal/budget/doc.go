// Package budget bounds and books the cost of the hidden agents' questions. Before a question, the governor reserves
// the highest possible cost (the worst case) in the store. After the question, it books the real cost. So no budget is
// exceeded, even if the host crashes.
//
// It may import agents/ask, internal/agent, internal/chronicle, internal/client, internal/clock, internal/format, internal/json,
// internal/model, internal/promptcache, schema, store and store/work.
package budget
