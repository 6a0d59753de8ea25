// Package bundle holds the built plugins of the harnesses. With them, the program can install the plugins
// without Node, npm or a network. `npm run generate` builds them from adapters/. A test of the shims fails
// if a built plugin is stale.
//
// It may import nothing of this module.
package bundle
