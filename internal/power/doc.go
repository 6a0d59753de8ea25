// Package power knows whether this machine runs on its battery. If nobody can tell, it does not.
//
// It may import nothing of this module.
package power
