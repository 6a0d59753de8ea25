// Package watch keeps the state of the host on a terminal: as a screen with keys, as lines for a screen reader, or as JSON.
// All data comes from the host. For a page of text, such as the memories, it runs the command that prints it.
//
// It may import cmd/magicctx-host/observer, internal/format, internal/json and internal/view.
package watch
