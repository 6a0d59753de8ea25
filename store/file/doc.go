// Package file manages the file of the store: it finds, opens, migrates, locks, copies, examines and repairs
// it.
//
// It never writes a file that belongs to another program, has a newer schema than this build, or is in use by another
// host. It moves a damaged database aside, and never deletes it.
//
// The package reads and writes only the rows that a migration changes.
//
// It may import internal/clock.
package file
