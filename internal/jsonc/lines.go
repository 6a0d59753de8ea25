package jsonc

import (
	"bytes"
	"strconv"

	"github.com/tailscale/hujson"
)

type Line struct {
	// An element of Path is a key, or an index such as "[2]".
	Path []string
	Line int
}

// `deepest` bounds a path's length. No program reads longer paths, and a hostile file's paths would need much memory.
const deepest = 16

// Lines returns the line of each key and list element in `data`, in the order of the file. `tree` is the result of
// Parse for `data`. Lines leaves out elements that are nested deeper than 16 levels.
func Lines(data []byte, tree hujson.Value) []Line {
	w := lineWalker{data: data, line: 1}
	w.walk(nil, tree)
	return w.found
}

type lineWalker struct {
	data         []byte
	offset, line int // the last position, and its line
	found        []Line
}

func (w *lineWalker) walk(at []string, v hujson.Value) {
	if len(at) == deepest {
		return
	}
	switch v := v.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			name, ok := m.Name.Value.(hujson.Literal)
			if !ok {
				continue
			}
			w.add(at, name.String(), m.Name.StartOffset)
			w.walk(w.found[len(w.found)-1].Path, m.Value)
		}
	case *hujson.Array:
		for i, e := range v.Elements {
			w.add(at, "["+strconv.Itoa(i)+"]", e.StartOffset)
			w.walk(w.found[len(w.found)-1].Path, e)
		}
	}
}

func (w *lineWalker) add(at []string, name string, offset int) {
	w.line += bytes.Count(w.data[w.offset:offset], []byte("\n"))
	w.offset = offset
	path := append(append(make([]string, 0, len(at)+1), at...), name)
	w.found = append(w.found, Line{path, w.line})
}
