package render

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/magicctx/magicctx-host/internal/json"
)

// If the arguments of a call have at most clampOver UTF-16 units, a skeleton keeps them whole. Otherwise it keeps
// clampKeep units of each string: "/a/b/c.txt" becomes "/a/b/...[truncated]". The lengths are in UTF-16 units,
// because the JavaScript of the harness counts so.
const (
	clampOver = 500
	clampKeep = 5
	truncated = "...[truncated]"
)

// If an earlier edit has clamped the arguments, skeletonInput keeps their long members short. nil means that the
// arguments do not change.
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

// ClampLong shortens an argument of more than longOver UTF-16 units. Paths, patterns and commands are usually shorter.
const longOver = 200

// ClampLong returns the arguments with every long member shortened, or nil if no member is long.
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

// isClamped reports whether s has a form that clampValue writes, for example
// `[3 items]`. Such a string stays, so that a second clamp changes nothing.
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

// cutUTF16 never keeps half of a surrogate pair, which would be invalid JSON on the wire (bug class B5 in
// docs/defects.md).
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
