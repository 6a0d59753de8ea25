package jsonc

import (
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// Set sets the key at a path to the JSONC value in text. It adds missing objects on the path.
func (d *Document) Set(path []string, text string) error {
	parsed, err := Parse([]byte(text + "\n")) // a comment needs a line break
	if err != nil {
		return fmt.Errorf("the value is no JSON: %w", err)
	}
	value, object, last := parsed.Value, d.Root, len(path)-1
	for depth, key := range path {
		m := Member(object, key)
		switch {
		case m == nil:
			for i := last; i > depth; i-- {
				value = d.NewObject(i-1, value, path[i])
			}
			d.Add(object, depth, key, value)
			return nil
		case depth == last:
			m.Value.Value = value
		default:
			inner, isObject := m.Value.Value.(*hujson.Object)
			if !isObject {
				return d.ErrorAt(m.Value, "%q is not an object", key)
			}
			object = inner
		}
	}
	return nil
}

// Remove removes every occurrence of the key at a path, and reports whether there was one.
func (d *Document) Remove(path []string) bool { return removeIn(d.Root, path) }

func removeIn(object *hujson.Object, path []string) (found bool) {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if !isNamed(object.Members[i], path[0]) {
			continue
		}
		if len(path) == 1 {
			remove(members{object}, i)
			found = true
		} else if inner, isObject := object.Members[i].Value.Value.(*hujson.Object); isObject {
			found = removeIn(inner, path[1:]) || found
		}
	}
	return found
}

// ReplaceTexts replaces each text value of the document with the result of `replace`. isMatched tells `replace` whether
// the text is the value of a key for which `matches` returns true, or is inside such a value.
func (d *Document) ReplaceTexts(matches func(key string) bool, replace func(text string, isMatched bool) string) {
	replaceIn(&d.Tree, false, matches, replace)
}

func replaceIn(v *hujson.Value, isMatched bool, matches func(string) bool, replace func(string, bool) string) {
	switch inner := v.Value.(type) {
	case *hujson.Object:
		for i := range inner.Members {
			name, _ := Text(inner.Members[i].Name)
			replaceIn(&inner.Members[i].Value, isMatched || matches(name), matches, replace)
		}
	case *hujson.Array:
		for i := range inner.Elements {
			replaceIn(&inner.Elements[i], isMatched, matches, replace)
		}
	case hujson.Literal:
		if text, isText := Text(*v); isText {
			if other := replace(text, isMatched); other != text {
				v.Value = hujson.String(other)
			}
		}
	}
}

// Add adds a member with the indentation and the line breaks that the author of the file uses. `depth` is 0 for the
// root, 1 for an object in it, and so on.
func (d *Document) Add(object *hujson.Object, depth int, name string, value hujson.ValueTrimmed) {
	l := layoutOf(d)
	c := members{object}
	var lead, tail hujson.Extra
	if c.len() == 0 {
		lead = l.open(c, depth == 0 || l.multiline, strings.Repeat(l.indent, depth), strings.Repeat(l.indent, depth+1))
	} else {
		lead, tail = l.appendTo(c)
	}
	object.Members = append(object.Members, l.member(name, value, lead, tail))
}

func (d *Document) AddElement(list *hujson.Array, value hujson.Literal) {
	l := layoutOf(d)
	c := elements{list}
	var lead, tail hujson.Extra
	if c.len() == 0 {
		l.padding = "" // a list in one line is written ["a", "b"]
		lead = l.open(c, false, l.indent, l.indent+l.indent)
	} else {
		lead, tail = l.appendTo(c)
	}
	list.Elements = append(list.Elements, hujson.ArrayElement{BeforeExtra: lead, Value: value, AfterExtra: tail})
}

// NewObject returns an object in which each name has the same value, for example {"auto": false, "prune": false}.
// `depth` is the depth of the object around it.
func (d *Document) NewObject(depth int, value hujson.ValueTrimmed, names ...string) *hujson.Object {
	l := layoutOf(d)
	lead, separator, end := l.padding, l.gap, l.padding
	if l.multiline {
		end = l.newline + strings.Repeat(l.indent, depth+1)
		lead = end + l.indent
		separator = lead
	}
	object := &hujson.Object{AfterExtra: hujson.Extra(end)}
	for _, name := range names {
		object.Members = append(object.Members, l.member(name, value, hujson.Extra(lead), nil))
		lead = separator
	}
	return object
}

func (l layout) member(name string, value hujson.ValueTrimmed, lead, tail hujson.Extra) hujson.ObjectMember {
	return hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: lead, Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(l.colon), Value: value, AfterExtra: tail},
	}
}

// RemoveMember removes the last member with that name, if there is one.
func RemoveMember(object *hujson.Object, name string) {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if isNamed(object.Members[i], name) {
			remove(members{object}, i)
			return
		}
	}
}

func RemoveElement(list *hujson.Array, i int) { remove(elements{list}, i) }

// A bare object or list has neither children nor comments.
func IsBare(v hujson.ValueTrimmed) bool {
	var c children
	switch v := v.(type) {
	case *hujson.Object:
		c = members{v}
	case *hujson.Array:
		c = elements{v}
	default:
		return false
	}
	return c.len() == 0 && !hasComment(*c.lead(0))
}
