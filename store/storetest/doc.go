// Package storetest opens stores and fills them, for tests of the packages below and above package store.
//
// It may import internal/chronicle, internal/clock, store, store/database, store/file, store/models and store/work.
package storetest
