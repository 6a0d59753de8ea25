package view

import "github.com/magicctx/magicctx-host/internal/format"

// The functions for texts in columns are those of all programs.
var (
	columns     = format.Columns
	runeColumns = format.RuneColumns
	left        = format.Left
	right       = format.Right
	cut         = format.Cut
	folded      = format.Folded
	foldedWords = format.FoldedWords
)
