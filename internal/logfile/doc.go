// Package logfile writes a log to a file, and moves a full file aside.
//
// It may import nothing of this module.
package logfile
