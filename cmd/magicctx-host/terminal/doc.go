// Package terminal knows terminals: their abilities and logs.
//
// It may import internal/format.
package terminal
