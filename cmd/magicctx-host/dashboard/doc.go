// Package dashboard serves a page on this machine: the sessions as they run, what each has put away, the memories, and what
// magicctx's own questions to models have cost. Only the browser that was given the token may read it.
//
// It may import internal/chronicle, internal/format, internal/json, internal/view, internal/view/page, internal/words,
// schema, store, store/memories and store/work.
package dashboard
