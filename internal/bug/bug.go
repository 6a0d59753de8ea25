package bug

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"testing"
)

var count atomic.Int64

// Reportf logs and counts a broken invariant. Its caller then returns a safe answer.
func Reportf(log *slog.Logger, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if testing.Testing() {
		panic("bug: " + msg)
	}
	count.Add(1)
	if log != nil {
		log.Error("bug", "what", msg, "stack", string(debug.Stack()))
	}
}

// Count returns how many bugs this process has reported, for status.
func Count() int64 { return count.Load() }
