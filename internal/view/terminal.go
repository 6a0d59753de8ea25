package view

import "strings"

// ECMA-48 defines these sequences; the private modes ("?1049") are xterm's.
const (
	// EnterScreen switches to the alternate screen and hides the cursor. LeaveScreen undoes that.
	EnterScreen = "\x1b[?1049h\x1b[?25l"
	LeaveScreen = "\x1b[?25h\x1b[?1049l"

	goHome     = "\x1b[H"
	clearToEOL = "\x1b[K"
	clearBelow = "\x1b[J"
)

// Frame returns the bytes that draw a screen. They overwrite the old screen, because clearing it first
// makes it flicker.
func Frame(screen string) string {
	// In raw mode a line feed does not return to the first column.
	return goHome + strings.ReplaceAll(screen, "\n", clearToEOL+"\r\n") + clearToEOL + clearBelow
}
