// Package opencode2 runs a beta of OpenCode 2 from its source, with the bundled shim as its plugin, the real host
// process and a scripted model. No release of OpenCode 2 can be installed from npm's public registry by a test, so
// the tests need a directory with the source of a beta and its dependencies. The environment variable
// MAGICCTX_OPENCODE2 names this directory. Without it, the tests are skipped.
//
// It may import e2e/opencodetest, e2e/pitest and internal/json.
package opencode2
