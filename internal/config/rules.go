package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// rules are the struct tags of one field of schema.Config. If the field is a map or a list, the rules apply to each
// element.
type rules struct {
	bare         string // if bare is set, one value may replace a whole list or map; in a map, the value gets the key bare
	def          []string
	enum         []string
	examples     []string // quoted
	pattern      *regexp.Regexp
	min, max     float64
	required     bool
	isAgentBlock bool
	isPattern    bool   // CompilePatterns reads the value
	isSpan       bool   // the value is a range of the day such as "02:00-06:00", whose ends must differ
	project      string // what a project's file may do with the key
	hasNoEffect  bool   // nothing reads the key yet
}

type field struct {
	name  string
	index []int
	rules rules
}

// knownFields caches the results of fieldsOf. Before a host answers its first client, it reads its configuration three
// times. Without the cache, it would spend more time on parsing the tags than on reading the files.
var knownFields sync.Map // of []field, by reflect.Type

// The caller must not change the result of fieldsOf.
func fieldsOf(t reflect.Type) []field {
	if known, ok := knownFields.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		r := parseRules(f.Tag)
		r.isAgentBlock = isAgent(f.Type)
		fields = append(fields, field{name: name, index: f.Index, rules: r})
	}
	knownFields.Store(t, fields)
	return fields
}

func parseRules(tag reflect.StructTag) rules {
	// Later code multiplies numbers of milliseconds and tokens. To prevent an overflow, the default maximum is the
	// largest 32-bit integer.
	r := rules{bare: tag.Get("bare"), min: math.Inf(-1), max: math.MaxInt32, isPattern: tag.Get("check") == "pattern", isSpan: tag.Get("check") == "span", project: tag.Get("project"), hasNoEffect: tag.Get("effect") == "none"}
	for _, entry := range strings.Split(tag.Get("jsonschema"), ",") {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "default":
			r.def = append(r.def, value)
		case "enum":
			r.enum = append(r.enum, value)
		case "example":
			r.examples = append(r.examples, strconv.Quote(value))
		case "pattern":
			r.pattern = regexp.MustCompile(value)
		case "minimum":
			r.min, _ = strconv.ParseFloat(value, 64)
		case "maximum":
			r.max, _ = strconv.ParseFloat(value, 64)
		case "required":
			r.required = true
		}
	}
	return r
}

func (r rules) scalar(raw any, t reflect.Type) (reflect.Value, bool) {
	switch t.Kind() {
	case reflect.Bool:
		on, ok := raw.(bool)
		return reflect.ValueOf(on), ok
	case reflect.Int:
		n, ok := raw.(float64)
		return reflect.ValueOf(int(n)), ok && n == math.Trunc(n) && r.min <= n && n <= r.max
	case reflect.Float64:
		n, ok := raw.(float64)
		return reflect.ValueOf(n), ok && r.min <= n && n <= r.max
	case reflect.String:
		text, ok := raw.(string)
		if len(r.enum) > 0 || r.pattern != nil {
			text = strings.TrimSpace(text)
		}
		ok = ok && (len(r.enum) == 0 || slices.Contains(r.enum, text)) &&
			(r.pattern == nil || r.pattern.MatchString(text)) && (!r.required || text != "")
		if begin, end, isSpan := strings.Cut(text, "-"); r.isSpan && isSpan && begin == end {
			ok = false
		}
		if ok && r.isPattern {
			_, err := compilePattern(text)
			ok = err == nil
		}
		return reflect.ValueOf(text).Convert(t), ok
	}
	panic("config: no rule for " + t.String()) // this happens only for a new kind of field in schema.Config, and then every test fails
}

func setDefaults(into reflect.Value) {
	for _, f := range fieldsOf(into.Type()) {
		value := into.FieldByIndex(f.index)
		if value.Kind() == reflect.Struct {
			setDefaults(value)
			continue
		}
		f.rules.setDefault(value)
	}
}

func (r rules) setDefault(into reflect.Value) {
	if len(r.def) == 0 {
		into.SetZero()
		return
	}
	switch into.Kind() {
	case reflect.Map:
		into.Set(reflect.MakeMap(into.Type()))
		into.SetMapIndex(reflect.ValueOf(r.bare), r.parse(r.def[0], into.Type().Elem()))
	case reflect.Slice:
		into.SetZero()
		for _, text := range r.def {
			into.Set(reflect.Append(into, r.parse(text, into.Type().Elem())))
		}
	default:
		into.Set(r.parse(r.def[0], into.Type()))
	}
}

// parse reads the text of a default. It panics if the default breaks the field's own rules.
func (r rules) parse(text string, t reflect.Type) reflect.Value {
	var raw any = text
	switch t.Kind() {
	case reflect.Bool:
		raw = text == "true"
	case reflect.Int, reflect.Float64:
		raw, _ = strconv.ParseFloat(text, 64)
	}
	value, ok := r.scalar(raw, t)
	if !ok {
		panic(fmt.Sprintf("config: the default %q breaks its own rules", text))
	}
	return value
}

func (r rules) allowed(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return r.allowed(t.Elem())
	case reflect.Struct:
		return "an object"
	case reflect.Map:
		elem := r.allowed(t.Elem())
		if r.bare == "" {
			return "an object with values of " + elem
		}
		return elem + ", or an object of such"
	case reflect.Slice:
		elem := r.allowed(t.Elem())
		if r.bare == "" {
			return "a list of " + elem
		}
		return elem + ", or a list of such"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number" + r.span()
	case reflect.Float64:
		return "a number" + r.span()
	}
	switch {
	case len(r.enum) > 0:
		return "one of " + strings.Join(r.enum, ", ")
	case r.pattern != nil:
		return "text like " + strings.Join(r.examples, " or ")
	case r.isPattern:
		return fmt.Sprintf("a pattern of at most %d bytes and %d alternatives, with closed brackets", maxPatternBytes, maxAlternatives)
	case r.required:
		return "text that is not empty"
	}
	return "text"
}

func (r rules) choices(kind reflect.Kind) (all []string) {
	switch kind {
	case reflect.Bool:
		return []string{"true", "false"}
	case reflect.String:
		for _, text := range r.enum {
			all = append(all, compact(text))
		}
	}
	return all
}

func (r rules) span() string {
	format := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	if math.IsInf(r.min, -1) {
		return " up to " + format(r.max)
	}
	return " from " + format(r.min) + " to " + format(r.max)
}
