// Package index keeps the index of messages: the texts of all sessions on this machine, and the terms by which
// they are found. docs/search.md describes it.
//
// The index has a file of its own, so no pass waits for its lock. If the file is damaged, it is deleted and made anew,
// because all its content can be read again from the harnesses' stores. Several processes may write it at the same
// time, for example the host and `magicctx-host index`. Each message is replaced as a whole in one transaction, so no
// message is stored twice, whichever process writes first.
//
// It may import internal/json, internal/terms and store/file.
package index
