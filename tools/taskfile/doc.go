// Package taskfile tests that the Taskfile works on a machine that has only Go.
package taskfile
