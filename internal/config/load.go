package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

type Options struct {
	Harness schema.Harness
	// If Directory is empty, there is no project level.
	Directory string
	// Env looks up environment variables; nil means os.Getenv.
	Env func(string) string

	// If edit is not nil, it replaces the user's file.
	edit *Edit
}

type level struct {
	file        string // the path of the file, empty if there is none
	tree        object
	substituted map[string]bool
	// `named` holds the top-level keys of the file, including old keys that are moved later.
	named map[string]bool
	// lines holds the line number of each key in the file, by the key's path.
	lines map[string]int
}

// An object is a decoded JSON object. Its values are objects, []any, string, float64, bool or nil.
type object = map[string]any

// Load returns the configuration that results from all files. It never fails: it ignores invalid values, and lists them
// in the warnings, in the order of the files.
func Load(o Options) (schema.Config, []Warning) {
	cfg, _, warnings := load(o)
	return cfg, warnings
}

func load(o Options) (schema.Config, []*level, []Warning) {
	l, levels := readLevels(o)
	cfg := l.config(levels)
	for _, lv := range slices.Backward(levels) { // the user's file first
		l.warnNoEffect(lv)
	}
	return cfg, levels, l.warnings.list
}

// DisabledAt returns the file:line that switches magicctx off, or "".
func DisabledAt(o Options) string {
	l, levels := readLevels(o)
	if l.config(levels).Enabled {
		return ""
	}
	at := path{"enabled"}
	return (&checker{levels: levels}).origin(at).place(at)
}

// The project comes first, because it overrides the user.
func readLevels(o Options) (*loader, []*level) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	l := newLoader(o.Env)
	l.edit = o.edit
	user := l.read("", l.userFiles(o.Harness))
	l.substitute(&user)
	var project level
	if o.Directory != "" {
		project = l.read(o.Directory, without(user.file, projectFiles(o.Harness, o.Directory)))
		l.keepTokens(&project)
		l.restrict(&project, &user, l.trusts(&user, o.Directory))
	}
	return l, []*level{&project, &user}
}

func (l *loader) config(levels []*level) schema.Config {
	c := checker{levels: levels, warnings: &l.warnings}
	return c.config(merge(levels[1].tree, levels[0].tree))
}

// Each file gets one warning for all of its keys that have no effect.
func (l *loader) warnNoEffect(lv *level) {
	idle := idleKeys(lv, nil, lv.tree, reflect.TypeFor[schema.Config]())
	if len(idle) > 0 {
		l.warnings.add(Warning{File: lv.file, Message: fmt.Sprintf("%s: this version does not read these keys yet: %s", lv.file, strings.Join(idle, ", "))})
	}
}

// idleKeys returns the keys that nothing reads yet, each with its line, for example "memory.auto_search (line 4)".
func idleKeys(lv *level, at path, tree object, t reflect.Type) []string {
	var idle []string
	for _, f := range fieldsOf(t) {
		value, ok := tree[f.name]
		if !ok {
			continue
		}
		key := append(slices.Clone(at), f.name)
		inner := t.FieldByIndex(f.index).Type
		if below, isObject := value.(object); isObject && !f.rules.hasNoEffect && inner.Kind() == reflect.Struct {
			idle = append(idle, idleKeys(lv, key, below, inner)...)
			continue
		}
		if !f.rules.hasNoEffect {
			continue
		}
		name := strings.Join(key, ".")
		if line := lv.line(key); line > 0 {
			name = fmt.Sprintf("%s (line %d)", name, line)
		}
		idle = append(idle, name)
	}
	return idle
}

// Default returns the configuration that applies without any file.
func Default() schema.Config {
	return (&checker{warnings: &warnings{}}).config(nil)
}

type loader struct {
	env      func(string) string
	home     string // empty if unknown
	edit     *Edit
	warnings warnings
}

func newLoader(env func(string) string) *loader {
	l := &loader{env: env, home: env("HOME")}
	if l.home == "" {
		l.home = env("USERPROFILE")
	}
	return l
}

func merge(base, over object) object {
	merged := make(object, len(base)+len(over))
	for key, value := range base {
		merged[key] = value
	}
	for key, value := range over {
		below, ok := merged[key].(object)
		above, both := value.(object)
		if ok && both {
			value = merge(below, above)
		}
		merged[key] = value
	}
	return merged
}

func (l *loader) trusts(user *level, dir string) bool {
	list, _ := user.tree["trusted_projects"].([]any)
	for _, entry := range list {
		trusted, _ := entry.(string)
		trusted = l.expandHome(trusted)
		if !filepath.IsAbs(trusted) {
			continue
		}
		if relative, err := filepath.Rel(trusted, dir); err == nil && filepath.IsLocal(relative) {
			return true
		}
	}
	return false
}
