package main

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// openness says whether an object may have members that its type does not
// declare.
type openness bool

const (
	// open: a message may have unknown members, because a minor version of the protocol may add optional fields.
	open openness = true
	// closed: the configuration has only declared keys, so an editor can underline a misspelt key.
	closed openness = false
)

var (
	anyValue   = reflect.TypeFor[json.Value]()
	schemaPath = reflect.TypeFor[schema.Config]().PkgPath()
)

// reflectAll returns the definitions of all types and of the types that they
// refer to.
func reflectAll(src source, types []reflect.Type, o openness) jsonschema.Definitions {
	defs := jsonschema.Definitions{}
	r := &jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: bool(o),
		// If no tag requires a key of the configuration, the key is optional.
		RequiredFromJSONSchemaTags: o == closed,
		LookupComment: func(t reflect.Type, field string) string {
			if t.PkgPath() != schemaPath {
				return ""
			}
			if field == "" {
				return src.comments[t.Name()]
			}
			return inJSON(t, field, src.comments[t.Name()+"."+field])
		},
	}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		switch {
		case t == anyValue:
			return jsonschema.TrueSchema
		case t.Kind() == reflect.String && t.PkgPath() == schemaPath:
			defs[t.Name()] = &jsonschema.Schema{Type: "string", Enum: src.enum(t.Name()), Description: src.comments[t.Name()]}
			return &jsonschema.Schema{Ref: "#/$defs/" + t.Name()}
		}
		return nil
	}
	for _, t := range types {
		for name, def := range r.ReflectFromType(t).Definitions {
			defs[name] = def
		}
		allowBareValues(defs, t)
	}
	for _, def := range defs {
		dropRepeatedEnums(def)
	}
	return defs
}

// A field's comment begins with the field's name in Go, for example CacheTTL. The comment becomes the description in
// the JSON Schema, so inJSON replaces this name with the name in JSON, for example cache_ttl.
func inJSON(t reflect.Type, field, comment string) string {
	rest, ok := strings.CutPrefix(comment, field+" ")
	f, found := t.FieldByName(field)
	if !ok || !found {
		return comment
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return effectOf(f) + name + " " + rest
}

// effectOf returns a warning if a key has no effect yet. Otherwise, it returns an empty text.
func effectOf(f reflect.StructField) string {
	if f.Tag.Get("effect") == "none" {
		return noEffect + " "
	}
	return ""
}

// noEffect begins the description of a key that nothing reads.
const noEffect = "Has no effect yet."

// allowBareValues changes the schema of each field with a bare tag, in t and in
// the structs inside it. The schema then also accepts a single value instead of
// a map or list.
func allowBareValues(defs jsonschema.Definitions, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == schemaPath {
			allowBareValues(defs, f.Type)
		}
		def := defs[t.Name()]
		if _, bare := f.Tag.Lookup("bare"); !bare || def == nil {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		property, _ := def.Properties.Get(name)
		value := elementSchema(f)
		whole := &jsonschema.Schema{Description: property.Description, Default: value.Default}
		value.Default = nil
		many := &jsonschema.Schema{Type: "object", AdditionalProperties: value}
		if f.Type.Kind() == reflect.Slice {
			many = &jsonschema.Schema{Type: "array", Items: value}
		}
		whole.AnyOf = []*jsonschema.Schema{value, many}
		def.Properties.Set(name, whole)
	}
}

// elementSchema returns the schema of one element of a map or list. The rules in the field's tag apply to each element.
func elementSchema(f reflect.StructField) *jsonschema.Schema {
	rules := strings.Split(f.Tag.Get("jsonschema"), ",")
	rules = slices.DeleteFunc(rules, func(rule string) bool { return strings.HasPrefix(rule, "oneof_type=") })
	tag := reflect.StructTag(`json:"value" jsonschema:` + strconv.Quote(strings.Join(rules, ",")))
	one := reflect.StructOf([]reflect.StructField{{Name: "Value", Type: f.Type.Elem(), Tag: tag}})
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true}
	value, _ := r.ReflectFromType(one).Properties.Get("value")
	return value
}

// dropRepeatedEnums removes the enum of a field's tag if the field's type is a
// definition that already has the enum.
func dropRepeatedEnums(s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if p.Value.Ref != "" {
			p.Value.Enum = nil
		}
	}
}

func protocolDocument(defs jsonschema.Definitions) ([]byte, error) {
	type signature struct {
		Caller schema.Caller `json:"caller"`
		Params string        `json:"params"`
		Result string        `json:"result,omitempty"`
	}
	signatures := map[string]signature{}
	for _, m := range schema.Methods {
		s := signature{Caller: m.Caller, Params: "#/$defs/" + m.Params.Name()}
		if m.Result != nil {
			s.Result = "#/$defs/" + m.Result.Name()
		}
		signatures[m.Name] = s
	}
	return document(&jsonschema.Schema{
		Version:     jsonschema.Version,
		Title:       "magicctx protocol",
		Description: "Parameters and results of the JSON-RPC methods between shim and host; x-methods binds them to names. Generated by go generate ./schema.",
		Definitions: defs,
		Extras:      map[string]any{"x-methods": signatures},
	})
}

func configDocument(defs jsonschema.Definitions) ([]byte, error) {
	root := *defs["Config"]
	delete(defs, "Config")
	root.Version = jsonschema.Version
	root.Title = "magicctx configuration"
	root.Definitions = defs
	return document(&root)
}

// document formats s for people: indented, and without the HTML escapes of
// encoding/json, which the library uses.
func document(s *jsonschema.Schema) ([]byte, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	value := json.Value(raw)
	if err := value.Format(); err != nil {
		return nil, err
	}
	if err := value.Indent(); err != nil {
		return nil, err
	}
	return append(value, '\n'), nil
}
