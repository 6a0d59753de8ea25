package template

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// Settings returns the text of a settings file. It contains each key that has an effect, as a comment with its
// description and default.
func Settings(jsonSchema []byte, schemaURL string, isProject bool) ([]byte, error) {
	tree, err := hujson.Parse(jsonSchema)
	if err != nil {
		return nil, fmt.Errorf("read the schema of the settings: %w", err)
	}
	root, ok := tree.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("read the schema of the settings: not an object")
	}
	w := writer{definitions: objectAt(root, "$defs"), isProject: isProject}
	w.line("// The settings of magicctx. Every key is shown with its default:")
	w.line("// to change one, remove the slashes in front of it.")
	w.line("{")
	if schemaURL != "" {
		w.line("  %q: %s,", "$schema", json.Quote(schemaURL))
	}
	for _, m := range objectAt(root, "properties").Members {
		if name := textOf(m.Name); name != "$schema" {
			w.property("  ", "  // ", name, m.Value, reflect.TypeFor[schema.Config]())
		}
	}
	w.line("}")
	return []byte(w.out.String()), nil
}

type writer struct {
	out         strings.Builder
	definitions *hujson.Object
	isProject   bool
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

// property writes a key. The lines of its description start with `describe`. The lines of the key itself, which a user
// uncomments as a block, start with `prefix`.
func (w *writer) property(describe, prefix, name string, v hujson.Value, owner reflect.Type) {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return
	}
	description := textAt(obj, "description")
	field, ok := fieldNamed(owner, name)
	if may := field.Tag.Get("project"); !ok || w.isProject && (may == "never" || may == "trusted") {
		return // only the file of a trusted project may set these keys, and most projects are not trusted
	}
	if field.Tag.Get("effect") == "none" {
		return
	}
	if describe == "  " {
		w.line("")
	}
	for _, l := range wrap(description, 100) {
		w.line("%s// %s", describe, l)
	}
	if name == "disable" && (owner == reflect.TypeFor[schema.Dreamer]() || owner == reflect.TypeFor[schema.Sidekick]()) { // without their block, these agents are off
		w.line("%s%s: true, // false turns the agent on", prefix, json.Quote(name))
		return
	}
	if v := valueAt(obj, "default"); v.Value != nil {
		value := hujson.Value{Value: v.Clone().Value}
		value.Minimize()
		w.line("%s%s: %s,", prefix, json.Quote(name), spaced(value))
		return
	}
	definition, isReference := strings.CutPrefix(textAt(obj, "$ref"), "#/$defs/")
	if !isReference {
		if example := exampleOf(field); example != "" { // if the user uncomments the whole block, a key without a default stays a comment
			w.line("%s// %s: %s,", prefix, json.Quote(name), example)
		}
		return
	}
	w.line("%s%s: {", prefix, json.Quote(name))
	for _, m := range objectAt(objectAt(w.definitions, definition), "properties").Members {
		w.property(prefix+"  ", prefix+"  ", textOf(m.Name), m.Value, field.Type)
	}
	w.line("%s},", prefix)
}

func exampleOf(f reflect.StructField) string {
	for _, rule := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		example, ok := strings.CutPrefix(rule, "example=")
		switch {
		case ok && f.Type.Kind() == reflect.Slice:
			return "[" + string(json.Quote(example)) + "]"
		case ok:
			return string(json.Quote(example))
		}
	}
	return ""
}

func fieldNamed(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key && !f.Anonymous {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// A list gets a space after each comma.
func spaced(v hujson.Value) string {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return v.String()
	}
	var elements []string
	for _, e := range array.Elements {
		elements = append(elements, e.String())
	}
	return "[" + strings.Join(elements, ", ") + "]"
}

func objectAt(obj *hujson.Object, name string) *hujson.Object {
	if inner, ok := valueAt(obj, name).Value.(*hujson.Object); ok {
		return inner
	}
	return &hujson.Object{}
}

func textAt(obj *hujson.Object, name string) string { return textOf(valueAt(obj, name)) }

func valueAt(obj *hujson.Object, name string) hujson.Value {
	for _, m := range obj.Members {
		if textOf(m.Name) == name {
			return m.Value
		}
	}
	return hujson.Value{}
}

func textOf(v hujson.Value) string {
	if literal, ok := v.Value.(hujson.Literal); ok && literal.Kind() == '"' {
		return literal.String()
	}
	return ""
}

// wrap breaks a sentence into lines of at most `width` characters. A longer word gets a line of its own.
func wrap(sentence string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(sentence) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
