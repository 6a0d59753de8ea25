// Package opencode2 runs OpenCode 2 with the bundled shim, the real host process and a scripted model. No
// release of OpenCode 2 is in npm's public registry. So in CI a fake plays the sessions (fake/main.ts), which
// follows the source of release 2.0.26. By hand, a beta can play them: MAGICCTX_OPENCODE2 names the directory
// with the beta's source and its dependencies.
//
// It may import e2e/opencodetest, e2e/pitest and internal/json.
package opencode2
