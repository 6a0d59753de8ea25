package jsonc

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/tailscale/hujson"
)

// ErrTooDeep means that a file has more levels of nesting than any person would
// write.
var ErrTooDeep = errors.New("nested too deeply")

// maxDepth bounds the parser's recursion, because a stack overflow would end
// the process.
const maxDepth = 500

// Parse parses a file. Its error is ErrTooDeep, or begins with line:column,
// which terminals turn into a link.
func Parse(data []byte) (hujson.Value, error) {
	if isDeep(data) {
		return hujson.Value{}, ErrTooDeep
	}
	tree, err := hujson.Parse(data)
	return tree, atPosition(err)
}

// isDeep counts brackets even in strings and comments. That is good enough,
// because no real file comes close to the limit.
func isDeep(data []byte) bool {
	depth := 0
	for _, c := range data {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxDepth {
			return true
		}
	}
	return false
}

var position = regexp.MustCompile(`^hujson: line (\d+), column (\d+): `)

func atPosition(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	at := position.FindStringSubmatch(text)
	if at == nil {
		return err
	}
	return fmt.Errorf("%s:%s: %s", at[1], at[2], text[len(at[0]):])
}
