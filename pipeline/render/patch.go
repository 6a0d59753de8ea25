package render

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

var ErrPatch = errors.New("patch does not fit")

// Apply applies a patch to a raw message, exactly as the shim does. It does not change any other byte of the message.
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

type node struct {
	raw     json.Value
	kind    byte // 0 until opened, then '{' or '['
	names   []string
	members []*node
}

func (n *node) apply(op schema.PatchOp) error {
	tokens, err := pointer(op.Path)
	if err != nil {
		return err
	}
	if op.Op != "remove" && len(op.Value) == 0 {
		return errors.New("no value")
	}
	parent := n
	for _, token := range tokens[:len(tokens)-1] {
		i, err := parent.find(token)
		if err != nil {
			return err
		}
		parent = parent.members[i]
	}
	last := tokens[len(tokens)-1]
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
		return parent.members[i].join(op.Value, true)
	case "append":
		return parent.members[i].join(op.Value, false)
	default:
		return fmt.Errorf("unknown operation %q", op.Op)
	}
	return nil
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// pointer splits a JSON Pointer: /parts/0 becomes "parts" and "0". It rejects the empty pointer, which addresses the
// whole message, because no patch replaces a whole message.
func pointer(path string) ([]string, error) {
	path, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, errors.New("path does not start with a slash")
	}
	tokens := strings.Split(path, "/")
	if !strings.Contains(path, "~") {
		return tokens, nil
	}
	for i, token := range tokens {
		if strings.Count(token, "~") != strings.Count(token, "~0")+strings.Count(token, "~1") {
			return nil, fmt.Errorf("bad escape in %q", token)
		}
		tokens[i] = pointerEscapes.Replace(token)
	}
	return tokens, nil
}

func index(token string) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && strconv.Itoa(i) == token && i >= 0
}

func (n *node) open() error {
	if n.kind != 0 {
		return nil
	}
	raw := json.Value(bytes.TrimSpace(n.raw))
	names, values, err := json.Members(raw)
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
	n.kind = raw[0]
	return nil
}

func (n *node) find(token string) (int, error) {
	if err := n.open(); err != nil {
		return 0, err
	}
	if n.kind == '[' {
		i, ok := index(token)
		if !ok || i >= len(n.members) {
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
		var ok bool
		if i, ok = index(token); !ok || i > len(n.members) {
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

// join joins two JSON strings. It does not decode them, because removing the quotes between them is enough.
func (n *node) join(v json.Value, inFront bool) error {
	before, after := bytes.TrimSpace(n.raw), bytes.TrimSpace(v)
	if inFront {
		before, after = after, before
	}
	if !isQuoted(before) || !isQuoted(after) || n.kind != 0 {
		return errors.New("prepend and append join strings only")
	}
	joined := make(json.Value, 0, len(before)+len(after))
	joined = append(joined, before[:len(before)-1]...)
	n.raw = append(joined, after[1:]...)
	return nil
}

func isQuoted(v []byte) bool { return len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' }

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
			b = append(append(b, json.Quote(n.names[i])...), ':')
		}
		b = m.append(b)
	}
	if n.kind == '{' {
		return append(b, '}')
	}
	return append(b, ']')
}
