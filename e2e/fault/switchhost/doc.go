// Command switchhost replaces the host's binary. A file selects its behaviour: "real" runs the real
// host, and all other values are faults.
//
// It may import nothing of this module.
package main
