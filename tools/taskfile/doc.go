// Package taskfile tests the Taskfile: its commands must work on a machine that has only Go.
package taskfile
