package view

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/format"
)

// Each ASCII replacement is as wide as its character: one column.
var signs = map[rune]string{
	'…': "~", '·': "-", '█': "@", '▓': "&", '▒': "+", '░': ":", '│': "|", '▸': ">", '↳': ">", '✗': "x", '▏': "_", '↑': "^", '↓': "v", '→': ">", '“': `"`, '”': `"`, '’': "'",
}

// inASCII replaces all characters that a terminal without Unicode cannot show. Each replacement is as wide as its
// character, so that tables stay aligned.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch sign, isOurs := signs[r]; {
		case r < 0x80:
			b.WriteRune(r)
		case isOurs:
			b.WriteString(sign)
		default:
			b.WriteString(strings.Repeat("?", format.RuneColumns(r)))
		}
	}
	return b.String()
}
