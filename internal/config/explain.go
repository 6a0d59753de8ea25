package config

import (
	"reflect"
	"slices"
	"strings"
)

type Setting struct {
	Key string `json:"key"` // for example "memory.auto_search.enabled"
	// Value is JSON. If the value may be a secret, or was taken from the environment or another file, Value only
	// describes it, for example "a text of 40 characters".
	Value string `json:"value"`
	// Place is the file and line that set the key, for example "/p/magicctx.jsonc:3". It is empty for a default. If
	// Load ignores the value in the file, Value is the default.
	Place string `json:"place"`
	// Choices lists the accepted values as JSON, if they are few.
	Takes   string   `json:"takes"`
	Choices []string `json:"choices,omitempty"`
}

// Explain returns every key that has an effect, in the order of the documentation, and the warnings of Load.
func Explain(o Options) ([]Setting, []Warning) {
	cfg, levels, warnings := load(o)
	c := &checker{levels: levels}
	return c.explain(nil, reflect.ValueOf(cfg)), warnings
}

func (c *checker) explain(at path, object reflect.Value) (all []Setting) {
	for _, f := range fieldsOf(object.Type()) {
		key, value := at.with(f.name), object.FieldByIndex(f.index)
		if f.rules.hasNoEffect || f.name == "$schema" {
			continue
		}
		if value.Kind() == reflect.Struct {
			all = append(all, c.explain(key, value)...)
			continue
		}
		from := &level{}
		if i := slices.IndexFunc(c.levels, func(lv *level) bool { _, isSet := lookup(lv.tree, key); return isSet }); i >= 0 {
			from = c.levels[i]
		}
		s := Setting{Key: key.String(), Value: shown(key, value, from), Takes: f.rules.allowed(value.Type()), Choices: f.rules.choices(value.Kind())}
		if from.file != "" {
			s.Place = from.place(key)
		}
		all = append(all, s)
	}
	return all
}

func shown(at path, value reflect.Value, from *level) string {
	key := at.String()
	for name := range from.substituted {
		if rest, isBelow := strings.CutPrefix(name, key); isBelow && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return "a value from the environment or another file"
		}
	}
	if text := value.String(); value.Kind() == reflect.String && text != "" {
		return show(at[len(at)-1], text, false)
	}
	return compact(value.Interface())
}
