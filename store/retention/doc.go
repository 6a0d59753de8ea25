// Package retention finds the sessions that have expired, and deletes their rows in short transactions.
//
// It may import store, store/database and store/file.
package retention
