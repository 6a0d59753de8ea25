// Package work keeps the work of the hidden agents: leases, runs, and the pace of the runs. The results of a run
// are stored elsewhere, in a transaction that checks the lease.
//
// It may import store/database and store/file.
package work
