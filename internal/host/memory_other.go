//go:build !linux

package host

import "runtime/metrics"

// residentBytes is what the Go runtime holds and has not given back: the system
// tells less cheaply here, and SQLite's share is small.
func residentBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
