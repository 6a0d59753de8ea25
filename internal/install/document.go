package install

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/jsonc"
	"github.com/magicctx/magicctx-host/internal/regular"
)

// maxFileBytes bounds a configuration file.
const maxFileBytes = 4 << 20

var bom = []byte("\ufeff")

// A document is a JSONC file whose root is an object, with all its white space and comments.
type document struct {
	file     string
	source   []byte // without the byte order mark
	hasBOM   bool
	ownBreak bool // the parser needed a final line break, which is not in the file
	tree     hujson.Value
	root     *hujson.Object
}

// parseDocument parses the content of a file. An empty file counts as an empty object, as it does for
// the harnesses.
func parseDocument(file string, content []byte) (*document, error) {
	d := &document{file: file}
	d.source, d.hasBOM = bytes.CutPrefix(content, bom)
	if len(bytes.Trim(d.source, " \t\r\n")) == 0 {
		d.root = &hujson.Object{}
		d.tree = hujson.Value{Value: d.root, AfterExtra: append(hujson.Extra{}, d.source...)}
		return d, nil
	}
	text := bytes.Clone(d.source)
	if !bytes.HasSuffix(text, []byte("\n")) {
		// hujson demands a line break after a comment in the last line.
		text, d.ownBreak = append(text, '\n'), true
	}
	var err error
	d.tree, err = jsonc.Parse(text)
	if errors.Is(err, jsonc.ErrTooDeep) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	root, ok := d.tree.Value.(*hujson.Object)
	if !ok {
		return nil, d.errorAt(d.tree, "not an object")
	}
	d.root = root
	return d, nil
}

// A configuration is a document that the harness of a place reads.
type configuration struct {
	*document
	Place
}

// parseStrictly parses a configuration, and refuses what its harness cannot read.
func (p Place) parseStrictly(file string, content []byte) (configuration, error) {
	d, err := parseDocument(file, content)
	if err != nil || !p.Harness.isStrict || d.tree.IsStandard() {
		return configuration{d, p}, err
	}
	return configuration{}, fmt.Errorf("%s: a comment or a trailing comma; %s takes neither, and ignores the whole file", d.positionAt(d.firstExtra()), p.Harness.Name)
}

// firstExtra returns the offset of the first comment or trailing comma.
func (d *document) firstExtra() int {
	standard := d.tree.Clone()
	standard.Standardize() // Standardize replaces these characters by blanks
	for i, b := range standard.Pack() {
		if i < len(d.source) && d.source[i] != b {
			return i
		}
	}
	return 0
}

// readDocument reads and parses a configuration of the harness. If the file does not exist, the error is
// fs.ErrNotExist.
func (p Place) readDocument(file string) (configuration, error) {
	content, err := readFile(file)
	if err != nil {
		return configuration{}, err
	}
	return p.parseStrictly(file, content)
}

// readFile reads a configuration.
func readFile(file string) ([]byte, error) {
	return regular.Read(file, maxFileBytes)
}

// bytes returns the content of the file.
func (d *document) bytes() []byte {
	content := d.tree.Pack()
	if d.ownBreak {
		content = bytes.TrimSuffix(content, []byte("\n"))
	}
	if d.hasBOM {
		content = append(bytes.Clone(bom), content...)
	}
	return content
}

// errorAt returns an error that names the file, line and column of a parsed value.
func (d *document) errorAt(v hujson.Value, format string, args ...any) error {
	return fmt.Errorf("%s: %s", d.position(v), fmt.Sprintf(format, args...))
}

// position returns file:line:column, which terminals turn into a link.
func (d *document) position(v hujson.Value) string { return d.positionAt(v.StartOffset) }

func (d *document) positionAt(offset int) string {
	before := d.source[:min(offset, len(d.source))]
	return fmt.Sprintf("%s:%d:%d", d.file, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// member returns the member with that name, nil if there is none. If the name occurs twice, the last
// member counts, as in JavaScript.
func member(obj *hujson.Object, name string) *hujson.ObjectMember {
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

// text returns the string in v, and whether v is a string.
func text(v hujson.Value) (string, bool) {
	literal, ok := v.Value.(hujson.Literal)
	if !ok || literal.Kind() != '"' {
		return "", false
	}
	return literal.String(), true
}
