// Package bundle holds the built plugins of the harnesses. So the program can install them without Node, npm
// or a network. `npm run generate` writes them from adapters/; a test of the shims finds a stale one.
//
// It may import nothing of this module.
package bundle
