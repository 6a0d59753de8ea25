// Package plugindb reads the database of the TypeScript plugin.
//
// It may import store/file.
package plugindb
