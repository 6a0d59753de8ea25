// Package dashboard serves a page on this machine: the sessions as they run, what each has put away and would cost with
// other settings, the memories, the hidden agents and their cost, and the settings. Only the browser that was given the token may read it.
//
// It may import cmd/magicctx-host/compare, internal/background, internal/chronicle, internal/config, internal/format, internal/json, internal/promptcache, internal/replay,
// internal/view, internal/view/page, internal/wirediff, internal/words, schema, store, store/memories, store/models and store/work.
package dashboard
