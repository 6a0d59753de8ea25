package jsonc

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"
)

var bom = []byte("\ufeff")

// A Document is a JSONC file whose root is an object, with all its white space and comments.
type Document struct {
	File string
	Tree hujson.Value
	Root *hujson.Object

	source   []byte // without the byte order mark
	hasBOM   bool
	ownBreak bool // the parser needed a final line break, which is not in the file
}

// The harnesses read an empty file as an empty object.
func ParseDocument(file string, content []byte) (*Document, error) {
	d := &Document{File: file}
	d.source, d.hasBOM = bytes.CutPrefix(content, bom)
	if len(bytes.Trim(d.source, " \t\r\n")) == 0 {
		d.Root = &hujson.Object{}
		d.Tree = hujson.Value{Value: d.Root, AfterExtra: append(hujson.Extra{}, d.source...)}
		return d, nil
	}
	text := bytes.Clone(d.source)
	if !bytes.HasSuffix(text, []byte("\n")) {
		// hujson requires a line break after a comment in the last line.
		text, d.ownBreak = append(text, '\n'), true
	}
	var err error
	d.Tree, err = Parse(text)
	if errors.Is(err, ErrTooDeep) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	root, ok := d.Tree.Value.(*hujson.Object)
	if !ok {
		return nil, d.ErrorAt(d.Tree, "not an object")
	}
	d.Root = root
	return d, nil
}

// FirstExtra returns the position of the first comment or trailing comma.
func (d *Document) FirstExtra() string {
	standard := d.Tree.Clone()
	standard.Standardize() // Standardize replaces these characters by blanks
	for i, b := range standard.Pack() {
		if i < len(d.source) && d.source[i] != b {
			return d.positionAt(i)
		}
	}
	return d.positionAt(0)
}

func (d *Document) Bytes() []byte {
	content := d.Tree.Pack()
	if d.ownBreak {
		content = bytes.TrimSuffix(content, []byte("\n"))
	}
	if d.hasBOM {
		content = append(bytes.Clone(bom), content...)
	}
	return content
}

func (d *Document) ErrorAt(v hujson.Value, format string, args ...any) error {
	return fmt.Errorf("%s: %s", d.Position(v), fmt.Sprintf(format, args...))
}

// Position returns file:line:column, which terminals turn into a link.
func (d *Document) Position(v hujson.Value) string { return d.positionAt(v.StartOffset) }

func (d *Document) positionAt(offset int) string {
	before := d.source[:min(offset, len(d.source))]
	return fmt.Sprintf("%s:%d:%d", d.File, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// If a name occurs twice, Member returns the last member, as JavaScript does.
func Member(obj *hujson.Object, name string) *hujson.ObjectMember {
	for i := len(obj.Members) - 1; i >= 0; i-- {
		if isNamed(obj.Members[i], name) {
			return &obj.Members[i]
		}
	}
	return nil
}

func isNamed(m hujson.ObjectMember, name string) bool {
	literal, ok := m.Name.Value.(hujson.Literal)
	return ok && literal.String() == name
}

func Text(v hujson.Value) (string, bool) {
	literal, ok := v.Value.(hujson.Literal)
	if !ok || literal.Kind() != '"' {
		return "", false
	}
	return literal.String(), true
}
