// Package bug reports states that cannot happen. A user cannot repair the host, so after a report the host continues
// with a safe answer. In a test, a report panics, so that a developer finds the bug before a user does.
//
// It may import nothing of this module.
package bug
