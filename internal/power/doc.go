// Package power knows whether this machine runs on its battery. If that cannot be found out, the machine counts as on
// mains power.
//
// It may import nothing of this module.
package power
