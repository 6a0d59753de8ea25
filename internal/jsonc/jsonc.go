package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/tailscale/hujson"
)

var ErrTooDeep = errors.New("nested too deeply")

// A stack overflow of the parser would end the process.
const maxDepth = 100

// Parse returns ErrTooDeep, or an error whose message begins with line:column, which terminals turn into a link.
func Parse(data []byte) (hujson.Value, error) {
	if isDeep(data) {
		return hujson.Value{}, ErrTooDeep
	}
	tree, err := hujson.Parse(data)
	return tree, atPosition(err)
}

// A closing bracket in a string or comment closes nothing.
func isDeep(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i += commentLen(data[i:])
		}
	}
	return false
}

// commentLen returns the length of the comment at the start of data, or 0. The length leaves out the line break or
// the "*/" at the comment's end. An unclosed comment reaches to the end of data.
func commentLen(data []byte) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(data, []byte("/*")):
		end = "*/"
	case !bytes.HasPrefix(data, []byte("//")):
		return 0
	}
	comment, _, _ := bytes.Cut(data[2:], []byte(end))
	return 2 + len(comment)
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
