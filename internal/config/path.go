package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A path is the place of a value in a configuration. Its elements are keys such as "memory", and indices such as "[2]".
type path []string

func (p path) with(key string) path { return append(slices.Clip(p), key) }

var (
	plainKey  = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)
	listIndex = regexp.MustCompile(`^\[[0-9]+\]$`)
)

func (p path) String() string {
	var b strings.Builder
	for _, key := range p {
		switch {
		case listIndex.MatchString(key):
			b.WriteString(key)
		case !plainKey.MatchString(key):
			b.WriteString("[" + strconv.Quote(key) + "]")
		case b.Len() > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// lookup returns the value at the path. If the path leads into a list, lookup does not check the index: it reports that
// the element exists, and returns nil.
func lookup(tree object, p path) (any, bool) {
	var value any = tree
	for _, key := range p {
		if _, ok := value.([]any); ok {
			return nil, true
		}
		inner, ok := value.(object)
		if !ok {
			return nil, false
		}
		if value, ok = inner[key]; !ok {
			return nil, false
		}
	}
	return value, true
}
