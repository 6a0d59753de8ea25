// Package page tests, in a real browser, the page that replay --html writes, and the dashboard. A page must
// write nothing to the console, request nothing from the network, fit phones and wide screens, and work with
// the keyboard. The screenshots go to bin/screens, for people to look at.
//
// The tests need Chromium (CHROMIUM, or chromium in PATH) and node_modules (npm ci). Without them they
// are skipped.
//
// It may import cmd/magicctx-host/dashboard, e2e/suite, internal/chronicle, internal/promptcache, internal/replay,
// internal/view/page, schema, store, store/memories, store/models, store/storetest and store/work.
package page
