// Package file manages the file of the store: it finds, opens, migrates, locks, copies, examines and repairs
// it.
//
// It never writes a file that belongs to another program, has a newer schema than this build, or is in use by another
// host. It moves a damaged database aside, and keeps the two newest of these files.
//
// Other packages read and write the rows. This package changes rows only in a migration.
//
// It may import internal/clock.
package file
