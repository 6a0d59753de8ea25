//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// enableANSI does nothing, because terminals on this system understand escape sequences.
func enableANSI(*os.File) (undo func(), err error) { return func() {}, nil }

// Resized signals each time the terminal changes its size.
func Resized() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c, func() { signal.Stop(c) }
}
