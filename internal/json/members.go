package json

import (
	"bytes"
	"errors"
)

var errNoMembers = errors.New("neither an object nor an array")

var errMalformed = errors.New("malformed value")

// Members splits an object or array into its members, one level deep and in order. For an array, names is nil. The
// members share the memory of v, which must be valid, compact JSON, for example from JSON.stringify. Members only
// looks for the ends of values, which is several times faster than a validating decoder. The speed matters, because
// the host splits every level of every message.
func Members(v Value) (names []string, members []Value, err error) {
	v = Value(bytes.TrimSpace(v))
	if len(v) < 2 || v[0] != '{' && v[0] != '[' {
		return nil, nil, errNoMembers
	}
	if v[len(v)-1] != v[0]+2 { // in ASCII, ']' and '}' come two places after '[' and '{'
		return nil, nil, errMalformed
	}
	isObject := v[0] == '{'
	for i := skipBlanks(v, 1); i < len(v)-1; {
		if isObject {
			end := skipString(v, i)
			if end < 0 {
				return nil, nil, errMalformed
			}
			name, err := unquote(v[i:end])
			if err != nil {
				return nil, nil, err
			}
			names = append(names, name)
			if i = skipBlanks(v, end); i >= len(v) || v[i] != ':' {
				return nil, nil, errMalformed
			}
			i = skipBlanks(v, i+1)
		}
		end := skipValue(v, i)
		if end < 0 || end >= len(v) {
			return nil, nil, errMalformed
		}
		members = append(members, v[i:end:end])
		if i = skipBlanks(v, end); v[i] == ',' {
			i = skipBlanks(v, i+1)
		}
	}
	return names, members, nil
}

// unquote decodes the name of a member. Nearly all names are plain ASCII, which needs no decoder.
func unquote(quoted Value) (string, error) {
	for _, c := range quoted {
		if c < ' ' || c > '~' || c == '\\' {
			var s string
			err := Unmarshal(quoted, &s)
			return s, err
		}
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

func skipBlanks(v Value, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t') {
		i++
	}
	return i
}

func skipValue(v Value, i int) int {
	if i >= len(v) {
		return -1
	}
	switch v[i] {
	case '"':
		return skipString(v, i)
	case '{', '[':
		for depth := 0; i < len(v); {
			switch v[i] {
			case '"':
				if i = skipString(v, i); i < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(v) && !bytes.ContainsRune([]byte(",]} \n\r\t"), rune(v[i])) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func skipString(v Value, i int) int {
	if i >= len(v) || v[i] != '"' {
		return -1
	}
	for j := i + 1; ; {
		n := bytes.IndexByte(v[j:], '"')
		if n < 0 {
			return -1
		}
		j += n
		backslashes := 0
		for k := j - 1; k > i && v[k] == '\\'; k-- {
			backslashes++
		}
		j++
		if backslashes%2 == 0 {
			return j
		}
	}
}
