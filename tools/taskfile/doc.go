// Package taskfile tests the Taskfile: what it says must work on a machine that has only Go.
package taskfile
