// Package bug reports states that cannot happen. The user did not start the
// host and cannot repair it, so the host must carry on with a safe answer.
// Under test the same call panics, so that a developer finds the state before a
// user does.
//
// It may import nothing of this module.
package bug
