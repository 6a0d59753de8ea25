package install

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/config"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// Settings is a magicctx.jsonc that holds every default as a comment. It comes with the JSON Schema
// that it names, so that editors know the keys without a network. A project's file names no schema.
type Settings struct {
	File    string
	Content []byte

	schemaFile string // the name of the schema's file, empty for none
	schema     []byte
}

// newSettings returns the settings to offer at the place. If a settings file exists already, it returns
// nil, because a new file could hide that one.
func newSettings(o Options) (*Settings, error) {
	dirs, err := o.directories()
	if err != nil {
		return nil, err
	}
	dir := dirs[0]
	if o.Project != "" {
		dir = o.Project // all harnesses read this file
	}
	for _, file := range o.settingsCandidates() {
		if _, err := os.Lstat(file); err == nil {
			return nil, nil
		}
	}
	content, err := schema.JSONSchema("config")
	if err != nil {
		return nil, err
	}
	file, err := realPath(filepath.Join(dir, "magicctx.jsonc"))
	if err != nil {
		return nil, fmt.Errorf("place the settings: %w", err)
	}
	s := &Settings{File: file}
	schemaURL := ""
	if o.Project == "" { // a project's file may be committed, so it names no path of this machine
		s.schemaFile, s.schema = o.schemaFile(), content
		schemaURL = fileURL(s.schemaFile)
	}
	s.Content, err = settingsTemplate(content, schemaURL, o.Project != "")
	return s, err
}

// settingsCandidates returns the possible paths of a settings file at the place. For a project, it returns those
// of all harnesses.
func (p Place) settingsCandidates() (files []string) {
	if p.Project == "" {
		files, _ = config.Candidates(config.Options{Harness: p.Harness.ID, Env: p.Env})
		return files
	}
	for _, h := range Harnesses {
		_, project := config.Candidates(config.Options{Harness: h.ID, Directory: p.Project, Env: p.Env})
		files = append(files, project...)
	}
	return files
}

// schemaFile is the JSON Schema that the user's settings name.
func (p Place) schemaFile() string { return filepath.Join(p.DataDir, "magicctx.schema.json") }

// write creates the files. If a settings file appeared in the meantime, it stays.
func (s *Settings) write() error {
	if _, err := os.Lstat(s.File); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.File, ErrChanged)
	}
	for _, f := range s.files() {
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}

// files returns the settings file and the schema that it names, the schema first.
func (s *Settings) files() (all []ownFile) {
	if s.schema != nil {
		all = append(all, ownFile{s.schemaFile, s.schema, 0o600})
	}
	return append(all, ownFile{s.File, s.Content, 0o644})
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a Windows path such as C:/x
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// settingsTemplate returns a configuration in which every key that has an effect is a comment, with its description and
// default from the JSON Schema.
func settingsTemplate(jsonSchema []byte, schemaURL string, isProject bool) ([]byte, error) {
	tree, err := hujson.Parse(jsonSchema)
	if err != nil {
		return nil, fmt.Errorf("read the schema of the settings: %w", err)
	}
	root, ok := tree.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("read the schema of the settings: not an object")
	}
	w := templateWriter{definitions: objectAt(root, "$defs"), isProject: isProject}
	w.line("// The settings of magicctx. Every key is shown with its default:")
	w.line("// to change one, remove the slashes in front of it.")
	w.line("{")
	if schemaURL != "" {
		w.line("  %q: %s,", "$schema", json.Quote(schemaURL))
	}
	for _, m := range objectAt(root, "properties").Members {
		name, _ := text(m.Name)
		if name != "$schema" {
			w.property("  ", "  // ", name, m.Value, reflect.TypeFor[schema.Config]())
		}
	}
	w.line("}")
	return []byte(w.out.String()), nil
}

// A templateWriter writes the properties of a JSON Schema as commented settings.
type templateWriter struct {
	out         strings.Builder
	definitions *hujson.Object
	isProject   bool
}

func (w *templateWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.out, format+"\n", args...)
}

// property writes one key. Lines of its description start with describe. Lines of the key itself, which
// a user uncomments as a block, start with prefix.
func (w *templateWriter) property(describe, prefix, name string, v hujson.Value, owner reflect.Type) {
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
	if m := member(obj, "default"); m != nil {
		value := hujson.Value{Value: m.Value.Clone().Value}
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
	if field.Type == reflect.TypeFor[schema.Dreamer]() { // the block itself switches this agent on
		w.line("%s// %s: {},", prefix, json.Quote(name))
		return
	}
	w.line("%s%s: {", prefix, json.Quote(name))
	for _, m := range objectAt(objectAt(w.definitions, definition), "properties").Members {
		inner, _ := text(m.Name)
		w.property(prefix+"  ", prefix+"  ", inner, m.Value, field.Type)
	}
	w.line("%s},", prefix)
}

// exampleOf returns the example in a field's tag as JSON, empty if there is none.
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

// fieldNamed returns the field of a struct for a key.
func fieldNamed(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name == key && !f.Anonymous {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// spaced formats a value in one line, with a space after each comma of a list.
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

// objectAt returns the member with that name as an object. If it is missing or no object, the result is
// empty.
func objectAt(obj *hujson.Object, name string) *hujson.Object {
	if m := member(obj, name); m != nil {
		if inner, ok := m.Value.Value.(*hujson.Object); ok {
			return inner
		}
	}
	return &hujson.Object{}
}

func textAt(obj *hujson.Object, name string) string {
	if m := member(obj, name); m != nil {
		s, _ := text(m.Value)
		return s
	}
	return ""
}

// wrap breaks a sentence into lines of at most width bytes. A longer word gets a line of its own.
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
