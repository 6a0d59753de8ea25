// Package file manages the file of the store: where it is, which process owns it, how it is opened, migrated,
// copied and examined, and what happens if it is damaged.
//
// It never writes a file that belongs to another program, has a newer schema than this build, or is owned by
// another host. It moves a damaged database aside and never deletes it.
//
// The package knows only those rows that a migration touches. It may import internal/clock, and nothing else
// of this module.
package file
