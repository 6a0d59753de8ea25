//go:build unix

package search

import (
	"syscall"
	"testing"
	"time"
)

func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
