package render

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/magicctx/magicctx-host/internal/json"
)

// Inputs of at most clampOver UTF-16 units stay whole in a skeleton; longer
// ones keep clampKeep units of each string (spec transform §3: the harness's
// own JavaScript counts in UTF-16 units).
const (
	clampOver = 500
	clampKeep = 5
	truncated = "...[truncated]"
)

// clampInput returns what a skeleton keeps of a tool's arguments, or nil when
// they stay as they are. It is a function of the arguments alone.
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

// longOver is the length in UTF-16 units from which ClampLong shortens an
// argument: paths, patterns and commands stay.
const longOver = 200

// ClampLong returns arguments in which every long string is cut, or nil when
// none is. Numbers, short strings and everything nested short enough stay.
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

// isClamped reports whether s is what clampValue leaves, so that clamping again
// changes nothing.
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

// lenUTF16 is JavaScript's length of s.
func lenUTF16[S string | json.Value](s S) int {
	n := 0
	for _, r := range string(s) {
		n += utf16.RuneLen(r)
	}
	return n
}

// cutUTF16 returns at most n UTF-16 units of s, never half of a surrogate pair
// (bug class B5: half a pair is invalid JSON on the wire).
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
