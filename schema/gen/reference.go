package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// Each key of the configuration has a struct tag `project`, which says how a project's file may set the key.
// projectWords maps the value of this tag to the word on the page.
var projectWords = map[string]string{
	"never":   "never",
	"trusted": "trusted",
	"any":     "any",
	"off":     "off",
	"on":      "on",
	"less":    "lower",
	"more":    "higher",
	"add":     "add",
}

const referenceHead = `# Configuration

<!-- Generated from schema/config.go by task generate. Do not edit. -->

The user's file is ` + "`~/.config/opencode/magicctx.jsonc`" + `, for Pi ` + "`~/.pi/agent/magicctx.jsonc`" + `. A harness without such a file uses ` + "`~/.config/magicctx/magicctx.jsonc`" + `. A project's file is ` + "`magicctx.jsonc`" + ` in the project or in its ` + "`.opencode/`" + ` or ` + "`.pi/`" + `, and overrides the user's file key by key.

A project's file is untrusted, because a repository that was only cloned may ship one. So the brackets after each key end with what a project may do. For example, it may lower ` + "`history_budget_percentage`" + ` from the user's 15 to 10, but 20 is ignored with a warning.

- **any**: it may set any value
- **off**, **on**: it may set only this value
- **lower**, **higher**: it may set a value that is not above, or not below, the user's value (or else the default)
- **add**: it may add to the user's list, and take nothing out of it
- **trusted**: it may set the key only if ` + "`trusted_projects`" + ` of the user's file lists the project or a directory above it. Such a project may set every key except those with "never"
- **never**: it may not set the key

The brackets begin with the default and the allowed range. "By model" means that the value may also be an object with the keys ` + "`default`, `provider/model` or `model`" + `. An invalid value is ignored with a warning; ` + "`magicctx-host doctor`" + ` shows the warnings.

`

// reference returns the page about all keys of the configuration.
func reference(src source) ([]byte, error) {
	var b strings.Builder
	b.WriteString(referenceHead)
	if err := referenceRows(&b, src, "", "", reflect.TypeFor[schema.Config]()); err != nil {
		return nil, err
	}
	b.WriteString("\n## Keys without effect\n\nThese keys are known, and nothing reads them yet. A warning names those that you set: " + strings.Join(withoutEffect("", reflect.TypeFor[schema.Config]()), ", ") + ".\n")
	return []byte(b.String()), nil
}

// withoutEffect lists the keys of t that nothing reads. It puts prefix before their names.
func withoutEffect(prefix string, t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
		case effectOf(f) != "":
			names = append(names, "`"+prefix+name+"`")
		case f.Type.Kind() == reflect.Struct:
			names = append(names, withoutEffect(prefix+name+".", f.Type)...)
		}
	}
	return names
}

// referenceRows writes an item for each key of t that has an effect. If another key holds t, `outer` is the tag
// `project` of that key, and applies to all keys of t. Otherwise, `outer` is "".
func referenceRows(b *strings.Builder, src source, prefix, outer string, t reflect.Type) error {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		if effectOf(f) != "" {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		may := f.Tag.Get("project")
		if outer != "" {
			may = outer
		}
		if f.Type.Kind() == reflect.Struct {
			if err := referenceRows(b, src, prefix+name+".", may, f.Type); err != nil {
				return err
			}
			continue
		}
		words, ok := projectWords[may]
		if !ok {
			return fmt.Errorf("%s%s has no rule for projects", prefix, name)
		}
		owner := t
		if len(f.Index) > 1 {
			owner = t.Field(f.Index[0]).Type
		}
		comment := src.comments[owner.Name()+"."+f.Name]
		meaning := strings.TrimSpace(strings.TrimPrefix(comment, f.Name+" "))
		meaning = strings.TrimSuffix(strings.TrimSuffix(meaning, "User file only."), " ")
		if values := defaultOf(f); values != "" {
			words = values + "; project: " + words
		} else {
			words = "project: " + words
		}
		fmt.Fprintf(b, "- `%s%s` (%s) %s\n", prefix, name, words, meaning)
	}
	return nil
}

// defaultOf returns the default in backticks, the range, and "by model" if the key may be set for each model, for
// example "`5000`, 100 to 600000".
func defaultOf(f reflect.StructField) string {
	var values []string
	least, most := "", ""
	for _, entry := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case "default":
			values = append(values, "`"+value+"`")
		case "minimum":
			least = value
		case "maximum":
			most = value
		}
	}
	text := strings.Join(values, " ")
	if least != "" && most != "" {
		text += ", " + least + " to " + most
	} else if least != "" {
		text += ", from " + least
	}
	if f.Type.Kind() == reflect.Map && f.Tag.Get("bare") == "default" {
		text += ", by model"
	}
	return strings.TrimLeft(text, " ,")
}
