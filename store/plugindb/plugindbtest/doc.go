// Package plugindbtest creates the database of the TypeScript plugin for tests.
//
// It may import nothing of this module.
package plugindbtest
