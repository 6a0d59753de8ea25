// Package power knows whether this machine runs on its battery. If the state is unknown, the package reports
// mains power.
//
// It may import nothing of this module.
package power
