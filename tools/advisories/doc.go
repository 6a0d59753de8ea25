// Package advisories compares the modules of this repository with a list of known weaknesses. It needs no network, so
// `task test` and `task release` can use it. `task vuln` asks the online database instead.
//
// It may import nothing of this repository.
package advisories
