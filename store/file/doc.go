// Package file is the file that the store lives in: where it is, which process
// owns it, how it is opened, migrated, copied and examined, and what happens
// when it is damaged.
//
// It promises that it never writes a file that belongs to another program, has
// a newer schema than this build, or is owned by another host, and that a
// damaged database is moved aside and never deleted.
//
// The package knows no rows except those that a migration touches. It may
// import internal/clock, and nothing else of this module.
package file
