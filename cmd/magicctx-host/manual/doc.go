// Package manual writes the manual page, and the scripts that complete commands in a shell, from the command line's model.
//
// It may import nothing of this module.
package manual
