// Package program says which program this process is: the hash of its file, and the command that starts it.
//
// Package program may import only the standard library.
package program
