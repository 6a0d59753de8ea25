package bug

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"testing"
)

var count atomic.Int64

// Reportf reports a broken invariant: it logs and counts it. In a test, it panics.
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

func Count() int64 { return count.Load() }
