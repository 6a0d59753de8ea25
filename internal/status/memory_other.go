//go:build !linux

package status

import "runtime/metrics"

// ResidentBytes returns the memory that the Go runtime holds, without SQLite's share, which is small. Asking
// the system for the whole process would cost more here than on Linux.
func ResidentBytes() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
