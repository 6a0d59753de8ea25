package render

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/magicctx/magicctx-host/internal/json"
)

// If the arguments of a call are longer than clampOver, a skeleton keeps only clampKeep of each string: "/a/b/c.txt"
// becomes "/a/b/...[truncated]". The lengths are in UTF-16 units, as JavaScript counts.
const (
	clampOver = 500
	clampKeep = 5
	truncated = "...[truncated]"
)

// skeletonInput returns the shortened arguments of a skeleton. If they are short enough to stay whole, it returns nil.
// But if an earlier edit has already clamped the call's long arguments, they stay clamped in any case.
func skeletonInput(input json.Value, wasClamped bool) json.Value {
	if clamped := clampInput(input); clamped != nil || !wasClamped {
		return clamped
	}
	return ClampLong(input)
}

func clampInput(input json.Value) json.Value {
	if lenUTF16(input) <= clampOver {
		return nil
	}
	n := &node{raw: input}
	if err := n.open(); err != nil || n.kind != '{' {
		return nil
	}
	for _, m := range n.members {
		m.raw = clampValue(m.raw)
	}
	return n.append(nil)
}

// An argument of more than longOver UTF-16 units is long. Paths, patterns and commands are usually shorter.
const longOver = 200

// ClampLong returns the arguments with each long one shortened, or nil if none is long.
func ClampLong(input json.Value) json.Value {
	n := &node{raw: input}
	if err := n.open(); err != nil || n.kind != '{' {
		return nil
	}
	cut := false
	for _, m := range n.members {
		if lenUTF16(m.raw) > longOver {
			clamped := clampValue(m.raw)
			cut = cut || string(clamped) != string(m.raw)
			m.raw = clamped
		}
	}
	if !cut {
		return nil
	}
	return n.append(nil)
}

var clampedArray = regexp.MustCompile(`^\[\d+ items\]$`)

// isClamped reports whether s has a form that clampValue writes, for example `[3 items]`. A second clamp does not
// change such a string.
func isClamped(s string) bool {
	head, cut := strings.CutSuffix(s, truncated)
	return cut && lenUTF16(head) <= clampKeep || s == "[object]" || clampedArray.MatchString(s)
}

func clampValue(v json.Value) json.Value {
	switch v.Kind() {
	case '{':
		return json.Value(`"[object]"`)
	case '[':
		n := &node{raw: v}
		if n.open() != nil {
			return v
		}
		return json.Quote("[" + strconv.Itoa(len(n.members)) + " items]")
	case '"':
		var s string
		if json.Unmarshal(v, &s) != nil || lenUTF16(s) <= clampKeep || isClamped(s) {
			return v
		}
		return json.Quote(cutUTF16(s, clampKeep) + truncated)
	}
	return v
}

func lenUTF16[S string | json.Value](s S) int {
	n := 0
	for _, r := range string(s) {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutUTF16 returns at most n UTF-16 units of s. It never divides a surrogate pair, because half a pair is invalid JSON
// (bug class B5 in docs/defects.md).
func cutUTF16(s string, n int) string {
	units := 0
	for i, r := range s {
		units += max(1, utf16.RuneLen(r))
		if units > n {
			return s[:i]
		}
	}
	return s
}
