package status

import (
	"bytes"
	"os"
	"strconv"
)

// ResidentBytes returns the resident memory of this process, or 0 if unknown. The second number of statm counts
// resident pages (man 5 proc).
func ResidentBytes() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
