package dreamer

import (
	"strings"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

// The dreamer does not change the lines of a document between two marks. A mark is a comment on its own line, for
// example "<!-- mc:protected START -->".
const (
	protectedStart = "mc:protected START"
	protectedEnd   = "mc:protected END"
)

// maxLines limits the lines that Lines returns. The host looks up each path in these lines on the disk, and a stranger
// may have written a very long document.
const maxLines = 500

// Lines returns those lines of a document that name paths. It returns them as memories: the category is the argument
// `name`, and the id is the line's number, counted from 1. Lines skips headings, code, protected parts, and lines with
// several blanks in a row.
func Lines(name, document string) (all []chronicle.Memory) {
	isCode, isProtected := false, false
	for i, line := range strings.Split(document, "\n") {
		content := strings.TrimSpace(line)
		isFence := strings.HasPrefix(content, "```") || strings.HasPrefix(content, "~~~")
		switch {
		case len(all) == maxLines:
			return all
		case strings.Contains(line, protectedStart):
			isProtected = true
		case strings.Contains(line, protectedEnd):
			isProtected = false
		case isProtected:
		case isFence:
			isCode = !isCode
		case isCode, strings.HasPrefix(content, "#"), content != strings.Join(strings.Fields(content), " "), len(Paths(content)) == 0:
		default:
			all = append(all, chronicle.Memory{ID: int64(i + 1), Category: name, Content: content})
		}
	}
	return all
}

// Revise applies changes to the lines of a document. An updated line keeps its indentation and its line break.
func Revise(document string, changes []Change) string {
	lines := strings.SplitAfter(document, "\n")
	for _, ch := range changes {
		for _, id := range ch.IDs {
			line := lines[id-1]
			if ch.Kind == Archive {
				lines[id-1] = ""
				continue
			}
			content := strings.TrimSpace(line)
			before, after, _ := strings.Cut(line, content)
			lines[id-1] = before + ch.Content + after
		}
	}
	return strings.Join(lines, "")
}
