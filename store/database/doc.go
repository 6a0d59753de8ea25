// Package database runs transactions on the file of the store.
//
// Writes go through one connection in short immediate transactions, whose statements stay prepared. Reads go through
// a small pool of connections that cannot write. All methods of DB are safe for concurrent use.
//
// It may import internal/clock and store/file.
package database
