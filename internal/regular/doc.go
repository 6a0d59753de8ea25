// Package regular opens files that somebody else may have prepared: a link to a
// private key, or a named pipe that never ends. Only a regular file is opened, and it
// is checked again after it was opened.
//
// It may import nothing of this module.
package regular
