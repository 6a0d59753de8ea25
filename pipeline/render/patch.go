package render

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// ErrPatch is wrapped by every error of Apply.
var ErrPatch = errors.New("patch does not fit")

// Apply returns raw with patch applied, as the shim will apply it. What no
// operation touches keeps its bytes.
func Apply(raw json.Value, patch schema.Patch) (json.Value, error) {
	if len(patch) == 0 {
		return raw, nil
	}
	root := &node{raw: raw}
	for _, op := range patch {
		if err := root.apply(op); err != nil {
			return nil, fmt.Errorf("%w: %s %s: %w", ErrPatch, op.Op, op.Path, err)
		}
	}
	return root.append(make([]byte, 0, len(raw)+64)), nil
}

// A node is a JSON value that is opened one level at a time, only where a
// patch reaches into it.
type node struct {
	raw     json.Value
	kind    byte // 0 until opened, then '{' or '['
	names   []string
	members []*node
}

func (n *node) apply(op schema.PatchOp) error {
	path, ok := strings.CutPrefix(op.Path, "/")
	if !ok {
		return errors.New("path does not start with a slash")
	}
	tokens := strings.Split(path, "/")
	parent := n
	for _, token := range tokens[:len(tokens)-1] {
		i, err := parent.find(unescape(token))
		if err != nil {
			return err
		}
		parent = parent.members[i]
	}
	last := unescape(tokens[len(tokens)-1])
	if op.Op == "add" {
		return parent.add(last, op.Value)
	}
	i, err := parent.find(last)
	if err != nil {
		return err
	}
	switch op.Op {
	case "remove":
		parent.remove(i)
	case "replace":
		parent.members[i] = &node{raw: op.Value}
	case "prepend":
		return parent.members[i].prepend(op.Value)
	default:
		return fmt.Errorf("unknown operation %q", op.Op)
	}
	return nil
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return pointerEscapes.Replace(token)
}

// open reads the members of the node, one level deep.
func (n *node) open() error {
	if n.kind != 0 {
		return nil
	}
	names, values, err := json.Members(n.raw)
	if err != nil {
		return fmt.Errorf("path leads into a value that has no members: %w", err)
	}
	n.names = names
	n.members = make([]*node, len(values))
	nodes := make([]node, len(values))
	for i, v := range values {
		nodes[i].raw = v
		n.members[i] = &nodes[i]
	}
	n.kind = n.raw[0]
	return nil
}

func (n *node) find(token string) (int, error) {
	if err := n.open(); err != nil {
		return 0, err
	}
	if n.kind == '[' {
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(n.members) {
			return 0, fmt.Errorf("no element %q", token)
		}
		return i, nil
	}
	for i, name := range n.names {
		if name == token {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no member %q", token)
}

func (n *node) add(token string, v json.Value) error {
	if err := n.open(); err != nil {
		return err
	}
	if n.kind == '{' {
		if i, err := n.find(token); err == nil {
			n.members[i] = &node{raw: v}
			return nil
		}
		n.names, n.members = append(n.names, token), append(n.members, &node{raw: v})
		return nil
	}
	i := len(n.members)
	if token != "-" {
		var err error
		if i, err = strconv.Atoi(token); err != nil || i < 0 || i > len(n.members) {
			return fmt.Errorf("no place %q", token)
		}
	}
	n.members = append(n.members, nil)
	copy(n.members[i+1:], n.members[i:])
	n.members[i] = &node{raw: v}
	return nil
}

func (n *node) remove(i int) {
	n.members = append(n.members[:i], n.members[i+1:]...)
	if n.kind == '{' {
		n.names = append(n.names[:i], n.names[i+1:]...)
	}
}

// prepend joins two quoted strings, so that neither has to be decoded.
func (n *node) prepend(v json.Value) error {
	if n.raw.Kind() != '"' || v.Kind() != '"' {
		return errors.New("prepend joins strings only")
	}
	joined := make(json.Value, 0, len(v)+len(n.raw))
	joined = append(joined, v[:len(v)-1]...)
	n.raw = append(joined, n.raw[1:]...)
	return nil
}

func (n *node) append(b []byte) []byte {
	if n.kind == 0 {
		return append(b, n.raw...)
	}
	b = append(b, n.kind)
	for i, m := range n.members {
		if i > 0 {
			b = append(b, ',')
		}
		if n.kind == '{' {
			b, _ = jsontext.AppendQuote(b, n.names[i]) // errs on invalid UTF-8 only, and still appends
			b = append(b, ':')
		}
		b = m.append(b)
	}
	if n.kind == '{' {
		return append(b, '}')
	}
	return append(b, ']')
}
