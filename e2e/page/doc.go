// Package page tests the page that replay --html writes in a real browser: it
// must be quiet on the console, ask the network for nothing, fit phones and wide
// screens, and answer to the keyboard. The screenshots go to bin/screens, for
// people to look at.
//
// The tests need Chromium (CHROMIUM, or chromium in PATH) and node_modules
// (npm ci), and are skipped without them.
package page
