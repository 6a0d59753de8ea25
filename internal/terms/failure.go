package terms

import (
	"slices"
	"strings"
)

var failures = [...]string{"error", "exception", "panic", "fatal", "traceback", "fail", "denied", "refused", "not found", "undefined", "cannot", "segmentation", "no such"}

// MayBeFailure reports whether a line may report a failure, because it contains a part of a typical word, for example
// "fail".
func MayBeFailure(line string) bool {
	lower := strings.ToLower(line)
	return slices.ContainsFunc(failures[:], func(part string) bool { return strings.Contains(lower, part) })
}
