// Package work keeps the work of the hidden agents: leases, runs, the pace of the runs, and the calls with their
// cost. The results of a run are stored elsewhere, in a transaction that checks the lease.
//
// It may import internal/chronicle, store/database and store/file.
package work
