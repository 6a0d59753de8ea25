package format

import (
	"fmt"
	"strings"
)

const contextLines = 3

const (
	red, green, cyan, plain = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
)

type diffLine struct {
	op   byte
	text string
}

// If nothing changes, Diff returns "".
func Diff(nameBefore, nameAfter, before, after string, colored bool) string {
	lines := diffLines(splitLines(before), splitLines(after))
	var b strings.Builder
	paint := func(color, line string) {
		if colored && color != "" {
			line = color + line + plain
		}
		b.WriteString(line + "\n")
	}
	colors := map[byte]string{'-': red, '+': green}
	lineBefore, lineAfter := 1, 1
	for i := 0; i < len(lines); {
		if lines[i].op == ' ' {
			i, lineBefore, lineAfter = i+1, lineBefore+1, lineAfter+1
			continue
		}
		if b.Len() == 0 {
			paint("", "--- "+Clean(nameBefore))
			paint("", "+++ "+Clean(nameAfter))
		}
		lead := min(contextLines, i)
		for j := 1; j <= lead; j++ { // the lines of the previous hunk are no context for this one
			if lines[i-j].op != ' ' {
				lead = j - 1
			}
		}
		end := hunkEnd(lines, i)
		hunk := lines[i-lead : end]
		removed, added := count(hunk, '-'), count(hunk, '+')
		kept := len(hunk) - removed - added
		paint(cyan, fmt.Sprintf("@@ -%s +%s @@", span(lineBefore-lead, kept+removed), span(lineAfter-lead, kept+added)))
		for _, l := range hunk {
			line, ends := strings.CutSuffix(l.text, "\n")
			paint(colors[l.op], string(l.op)+CleanAll(strings.TrimSuffix(line, "\r")))
			if !ends {
				paint("", `\ No newline at end of file`)
			}
		}
		lineBefore += kept + removed - lead
		lineAfter += kept + added - lead
		i = end
	}
	return b.String()
}

// hunkEnd returns the end of the hunk that begins at line i. If the context lines of two changes touch, both changes
// belong to the same hunk.
func hunkEnd(lines []diffLine, i int) int {
	last := i
	for j := i; j < len(lines) && j <= last+2*contextLines; j++ {
		if lines[j].op != ' ' {
			last = j
		}
	}
	return min(last+1+contextLines, len(lines))
}

func count(lines []diffLine, op byte) (n int) {
	for _, l := range lines {
		if l.op == op {
			n++
		}
	}
	return n
}

// span writes the range of a hunk. Like the program diff, it gives an empty range the number of the line before it.
func span(start, length int) string {
	switch length {
	case 0:
		return fmt.Sprintf("%d,0", start-1)
	case 1:
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, length)
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// A cell of the table in diffLines has four bytes.
const maxCells = 8 << 20

// diffLines returns a shortest edit script. It sets aside the equal lines at the beginning and at the end, and searches
// only between them. If too many lines are left (about 2,800), the script simply removes all old lines and adds all new
// ones.
func diffLines(a, b []string) []diffLine {
	lead := 0
	for lead < min(len(a), len(b)) && a[lead] == b[lead] {
		lead++
	}
	tail := 0
	for tail < min(len(a), len(b))-lead && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	script := appendLines(nil, ' ', a[:lead])
	script = diffMiddle(script, a[lead:len(a)-tail], b[lead:len(b)-tail])
	return appendLines(script, ' ', a[len(a)-tail:])
}

func diffMiddle(script []diffLine, a, b []string) []diffLine {
	width := len(b) + 1
	if (len(a)+1)*width > maxCells {
		return appendLines(appendLines(script, '-', a), '+', b)
	}
	// common[i*width+j] is the length of the longest common subsequence of a[i:] and b[j:].
	common := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i*width+j] = common[(i+1)*width+j+1] + 1
			} else {
				common[i*width+j] = max(common[(i+1)*width+j], common[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			script = append(script, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case common[(i+1)*width+j] >= common[i*width+j+1]:
			script = append(script, diffLine{'-', a[i]})
			i++
		default:
			script = append(script, diffLine{'+', b[j]})
			j++
		}
	}
	return appendLines(appendLines(script, '-', a[i:]), '+', b[j:])
}

func appendLines(script []diffLine, op byte, lines []string) []diffLine {
	for _, line := range lines {
		script = append(script, diffLine{op, line})
	}
	return script
}
