// Package doctor examines everything that magicctx needs on a machine, and reports each problem with
// its remedy. It covers the program, the running host, the harness, the configuration and its
// conflicts, the store, permissions, files that dead hosts left behind, and disk space.
//
// An examination does not disturb a running host: it takes no lock that a host would wait for, writes
// nothing and starts nothing. Only Repair changes files, and only in ways that are safe while a host
// runs.
//
// It may import internal/config, internal/embedding, internal/format, internal/json, internal/program,
// internal/regular, internal/words, rpc, schema and store.
package doctor
