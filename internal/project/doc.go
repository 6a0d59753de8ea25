// Package project says which project a directory belongs to. A clone, a moved clone and a linked worktree of one
// git repository are one project, so they share its memories.
//
// The identity of a project is a text:
//
//   - "git:" and the hash of the root commit, for a directory in a git repository that has a commit.
//   - "dir:" and twelve hex digits of a hash of the path, for any other directory.
//
// A repository may have several root commits, for example after a merge of an unrelated history. If so, we follow
// the first parents of the commits, because a merge into a branch does not change the root commit to which they
// lead. A shallow clone lacks its root commit, so it has the identity of its directory until it is complete.
//
// The repository may come from a stranger. So git runs without anything that a repository's configuration could make
// it execute or fetch, and for at most five seconds.
//
// It may import nothing of this module.
package project
