// Package program says which program this process is: the hash of its file, and the command that starts it.
//
// It may import nothing of this module.
package program
