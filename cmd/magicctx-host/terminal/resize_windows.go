package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableANSI makes the console understand escape sequences. By default, consoles older than Windows Terminal
// do not understand them.
func enableANSI(out *os.File) (undo func(), err error) {
	console := windows.Handle(out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return nil, err
	}
	err = windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
	return func() { _ = windows.SetConsoleMode(console, mode) }, err
}

// Resized never signals. The next redraw, at most a second later, sees the new size.
func Resized() (resized <-chan os.Signal, stop func()) { return nil, func() {} }
