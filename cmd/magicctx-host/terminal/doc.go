// Package terminal knows terminals: their keys and logs.
//
// It may import internal/format and internal/view.
package terminal
