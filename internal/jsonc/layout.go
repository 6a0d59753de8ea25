package jsonc

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

type children interface {
	len() int
	// lead(i) is the white space and comments before child i. If i is the number of children, it is the white space and
	// comments before the closing bracket.
	lead(i int) *hujson.Extra
	// tail(i) is the white space and comments between child i and its comma. The last child has a comma only if its
	// tail is not nil.
	tail(i int) *hujson.Extra
	cut(i int)
}

type members struct{ *hujson.Object }

func (m members) len() int                 { return len(m.Members) }
func (m members) tail(i int) *hujson.Extra { return &m.Members[i].Value.AfterExtra }
func (m members) cut(i int)                { m.Members = slices.Delete(m.Members, i, i+1) }
func (m members) lead(i int) *hujson.Extra {
	if i == len(m.Members) {
		return &m.AfterExtra
	}
	return &m.Members[i].Name.BeforeExtra
}

type elements struct{ *hujson.Array }

func (e elements) len() int                 { return len(e.Elements) }
func (e elements) tail(i int) *hujson.Extra { return &e.Elements[i].AfterExtra }
func (e elements) cut(i int)                { e.Elements = slices.Delete(e.Elements, i, i+1) }
func (e elements) lead(i int) *hujson.Extra {
	if i == len(e.Elements) {
		return &e.AfterExtra
	}
	return &e.Elements[i].BeforeExtra
}

type layout struct {
	newline string
	// `indent` is the indentation of the root's members, if the document has several lines.
	indent    string
	multiline bool
	colon     string // follows a colon
	gap       string // follows a comma within one line
	padding   string // is written inside the brackets of an object or list in one line
}

func layoutOf(d *Document) layout {
	l := layout{newline: "\n", indent: "  ", colon: " ", gap: " ", multiline: true}
	if bytes.Contains(d.source, []byte("\r\n")) {
		l.newline = "\r\n"
	}
	all := d.Root.Members
	if len(all) == 0 {
		return l
	}
	if colon := string(all[0].Value.BeforeExtra); strings.Trim(colon, " \t") == "" {
		l.colon, l.gap = colon, colon
	}
	// A new member is added after the last one, so the new member gets the same indentation.
	if lead := all[len(all)-1].Name.BeforeExtra; endsInNewLine(lead) {
		l.indent = afterLastBreak(lead)
		return l
	}
	l.multiline = false
	if len(all) > 1 {
		_, blank := splitComments(all[len(all)-1].Name.BeforeExtra)
		l.gap = string(blank)
	}
	if first := all[0].Name.BeforeExtra; !hasComment(first) && !bytes.Contains(first, []byte("\n")) {
		l.padding = string(first)
	}
	return l
}

func (l layout) separator(c children) string {
	n := c.len()
	if n == 0 {
		return ""
	}
	lead := *c.lead(n - 1)
	if endsInNewLine(lead) {
		return l.newline + afterLastBreak(lead)
	}
	if n > 1 {
		_, blank := splitComments(lead)
		return string(blank)
	}
	return l.gap
}

// appendTo prepares c for a new child after its last one; c must not be empty. It returns the white space and comments
// that go before and after the new child.
func (l layout) appendTo(c children) (lead, tail hujson.Extra) {
	separator := l.separator(c)
	comments, blank := splitComments(*c.lead(c.len()))
	if *c.tail(c.len() - 1) != nil {
		tail = hujson.Extra{} // the author uses trailing commas
	}
	if bytes.HasSuffix(comments, []byte("\n")) {
		// A line comment already ends in a line break.
		separator = strings.TrimPrefix(separator, l.newline)
		blank = append(hujson.Extra(l.newline), blank...)
	}
	*c.lead(c.len()) = blank
	return append(comments, separator...), tail
}

// The method `open` prepares c, which has no children yet, for its first child. It returns the white space and comments
// that go before the child. `outer` is the indentation of the line that contains c, and `inner` is the indentation of
// the child.
func (l layout) open(c children, multiline bool, outer, inner string) hujson.Extra {
	comments, blank := splitComments(*c.lead(0))
	switch {
	case bytes.HasSuffix(comments, []byte("\n")):
		*c.lead(0) = append(hujson.Extra(l.newline), blank...)
		return append(comments, inner...)
	case multiline || bytes.Contains(blank, []byte("\n")):
		if !bytes.Contains(blank, []byte("\n")) {
			*c.lead(0) = hujson.Extra(l.newline + outer)
		} else {
			*c.lead(0) = blank
		}
		return append(comments, l.newline+inner...)
	default:
		*c.lead(0) = hujson.Extra(l.padding)
		return append(comments, l.padding...)
	}
}

// remove removes child i. It keeps the comments before and after the child.
func remove(c children, i int) {
	joined := join(*c.lead(i), *c.lead(i + 1), i == 0)
	if tail := *c.tail(i); hasComment(tail) {
		joined = append(slices.Clone(tail), joined...)
	}
	if i == c.len()-1 && i > 0 {
		before := c.tail(i - 1)
		switch hasComma := *c.tail(i) != nil; {
		case hasComma && *before == nil:
			*before = hujson.Extra{}
		case !hasComma && *before != nil:
			joined, *before = append(slices.Clone(*before), joined...), nil
		}
	}
	c.cut(i)
	if c.len() == 0 && !hasComment(joined) {
		joined = nil
	}
	*c.lead(i) = joined
}

// Before a child is removed, join merges the white space and comments before and after it. join undoes appendTo.
func join(lead, next hujson.Extra, isFirst bool) hujson.Extra {
	comments, _ := splitComments(lead)
	first, _, _ := bytes.Cut(next, []byte("\n"))
	switch {
	case hasComment(first):
		// A comment in the line of the removed child stays, in the child's place.
		return append(slices.Clone(lead), bytes.TrimLeft(next, " \t")...)
	case bytes.HasSuffix(comments, []byte("\n")):
		next = bytes.TrimPrefix(bytes.TrimPrefix(next, []byte("\r")), []byte("\n"))
	case isFirst && len(comments) == 0 && !hasComment(next):
		if bytes.Contains(lead, []byte("\n")) == bytes.Contains(next, []byte("\n")) {
			return slices.Clone(lead)
		}
	}
	return append(slices.Clone(comments), next...)
}

func splitComments(e hujson.Extra) (comments, blank hujson.Extra) {
	end := 0
	for n := 0; n < len(e); {
		length := 1
		if e[n] == '/' {
			length = commentLength(e[n:])
			end = n + length
		}
		n += length
	}
	return slices.Clone(e[:end]), slices.Clone(e[end:])
}

// The length of a line comment includes its line break.
func commentLength(e hujson.Extra) int {
	closing := len("\n")
	if bytes.HasPrefix(e, []byte("/*")) {
		closing = len("*/")
	}
	return min(commentLen(e)+closing, len(e))
}

func hasComment(e hujson.Extra) bool { return bytes.IndexByte(e, '/') >= 0 }

func endsInNewLine(e hujson.Extra) bool {
	comments, blank := splitComments(e)
	return bytes.HasSuffix(comments, []byte("\n")) || bytes.Contains(blank, []byte("\n"))
}

func afterLastBreak(e hujson.Extra) string {
	_, blank := splitComments(e)
	return string(blank[bytes.LastIndexByte(blank, '\n')+1:])
}
