// Package bug reports states that cannot happen. After a report, the host continues with a safe answer, because a
// user cannot repair the host. In a test, a report panics, so that a developer finds the bug before a user does.
//
// It may import nothing of this module.
package bug
