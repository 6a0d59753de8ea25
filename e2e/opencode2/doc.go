// Package opencode2 runs OpenCode 2 with the bundled shim as its plugin, the real host process and a scripted model. No
// release of OpenCode 2 can be installed from npm's public registry. So its tests play their sessions twice: in CI with
// a fake of our own, which follows the source of release 2.0.26 (fake/main.ts), and by hand with a beta. The environment
// variable MAGICCTX_OPENCODE2 names the directory with the beta's source and its dependencies.
//
// It may import e2e/opencodetest, e2e/pitest and internal/json.
package opencode2
