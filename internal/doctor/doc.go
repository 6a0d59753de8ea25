// Package doctor looks at everything that magicctx needs to work on a machine
// and says what is wrong and what to do about it: the program, the running
// host, the harness, configuration and conflicts, the store, permissions, what
// dead hosts left behind, disk space.
//
// It looks without disturbing: it takes no lock that a host would wait for,
// writes nothing and starts nothing. Only Repair changes something, and only
// what is safe to change while a host runs.
//
// It may import rpc, store, schema and internal/config.
package doctor
