package config

import (
	"maps"
	"reflect"
	"slices"
)

// Package schema explains these values of the tag "project".
const (
	mayNever   = "never"
	mayTrusted = "trusted"
	mayAny     = "any"
	mayOff     = "off"
	mayOn      = "on"
	mayLess    = "less"
	mayMore    = "more"
	mayAdd     = "add"
)

// A restriction removes the values that a project may not set from the project's configuration. A cloned repository may
// contain any file, so an untrusted project may only set values that are more cautious than the user's, or that are a
// matter of taste. It must not raise costs, make prompts hang, or choose where text is sent.
//
// A restriction also removes the project's invalid values. Otherwise, such a value would replace the user's value, and
// the checker would then replace it by the default. The default may allow more than the user does.
type restriction struct {
	loader  *loader
	project *level
	trusted bool
	checker checker
}

func (l *loader) restrict(project, user *level, trusted bool) {
	own := checker{levels: []*level{{named: maps.Clone(user.named)}}, warnings: &warnings{}}
	base := own.config(user.tree)
	for _, name := range own.ignored {
		// The user's block has bad values, so the whole block is ignored. The project's block must go, too. Otherwise,
		// a good value of the project could replace the bad one, and the rest of the user's block would take effect
		// after all.
		if _, ok := project.tree[name]; ok {
			delete(project.tree, name)
			delete(project.named, name)
			l.warnKey(user, path{name}, "this block has bad values, so that of "+project.file+" is ignored, too")
		}
	}
	r := restriction{loader: l, project: project, trusted: trusted, checker: checker{levels: []*level{project}, warnings: &l.warnings}}
	r.object(nil, project.tree, reflect.ValueOf(base))
	if !trusted {
		r.agentsOf(user)
	}
}

// agentsOf keeps an untrusted project from starting an optional agent. Such an agent starts only if the configuration
// has a block for it. So agentsOf makes the loader forget that the project's file has such a block.
func (r *restriction) agentsOf(user *level) {
	for _, name := range []string{"dreamer", "sidekick"} {
		if !r.project.named[name] || user.named[name] {
			continue
		}
		delete(r.project.named, name)
		if disable, _ := lookup(r.project.tree, path{name, "disable"}); disable != true {
			r.loader.warnKey(r.project, path{name}, "a project may start this agent only if trusted_projects of the user file lists it; it stays disabled")
		}
	}
}

func (r *restriction) object(at path, tree object, base reflect.Value) {
	for _, f := range fieldsOf(base.Type()) {
		value, ok := tree[f.name]
		if !ok {
			continue
		}
		key, mine, may := at.with(f.name), base.FieldByIndex(f.index), f.rules.project
		switch {
		case may == mayNever:
			r.remove(key, tree, "only the user file may set this; ignored")
		case may == mayTrusted && !r.trusted:
			r.remove(key, tree, "a project may set this only if trusted_projects of the user file lists it; ignored")
		case f.rules.isAgentBlock:
			r.agent(key, tree, value, f, mine)
		case mine.Kind() == reflect.Struct:
			inner, ok := value.(object)
			if !ok {
				r.checker.reject(key, value, f.rules, mine)
				delete(tree, f.name)
				continue
			}
			r.object(key, inner, mine)
		default:
			r.value(key, tree, value, f.rules, mine)
		}
	}
}

// The method `agent` checks the block that the project's file has for one agent. If a value in the block is bad, the
// method removes the whole block, so that only the user's block counts.
func (r *restriction) agent(key path, tree object, value any, f field, mine reflect.Value) {
	before := r.checker.bad
	r.checker.inAgent = true
	if inner, ok := value.(object); ok {
		r.object(key, inner, mine)
	} else {
		r.checker.reject(key, value, f.rules, mine)
	}
	r.checker.inAgent = false
	if r.checker.bad > before {
		r.remove(key, tree, "the whole block is ignored, because of its bad values; the user's file counts")
		delete(r.project.named, f.name)
	}
}

// The method `value` also expands a short form: 65 becomes {"default": 65}.
func (r *restriction) value(key path, tree object, value any, rules rules, mine reflect.Value) {
	if mine.Kind() == reflect.Map && mine.Type().Elem().Kind() == reflect.Struct {
		return // the key defines commands, and only a trusted project may do that
	}
	target := reflect.New(mine.Type()).Elem()
	target.Set(mine)
	name := key[len(key)-1]
	if !r.checker.value(key, value, rules, target) {
		delete(tree, name)
		return
	}
	may := rules.project
	if r.trusted {
		may = mayAny
	}
	switch target.Kind() {
	case reflect.Map:
		if tree[name] = mapping(mine, target); target.Len() == 0 && mine.Len() == 0 {
			delete(tree, name)
		}
	case reflect.Slice:
		if may == mayAdd {
			target = union(mine, target)
		}
		tree[name] = listOf(target)
	default:
		if why := worse(may, mine, target); why != "" {
			r.remove(key, tree, why+"; using "+compact(mine.Interface()))
			return
		}
		tree[name] = rawOf(target)
	}
}

// mapping merges the user's map and a trusted project's map. If both have the same model, the project's value wins.
func mapping(mine, target reflect.Value) object {
	merged := object{}
	for _, entries := range []reflect.Value{mine, target} {
		for _, k := range entries.MapKeys() {
			merged[k.String()] = rawOf(entries.MapIndex(k))
		}
	}
	return merged
}

// The function `worse` returns the reason why a project may not replace the user's value, or "" if it may.
func worse(may string, mine, theirs reflect.Value) string {
	const unless = ", unless trusted_projects of the user file lists it"
	switch {
	case may == mayOff && theirs.Bool() && !mine.Bool():
		return "a project may only switch this off" + unless
	case may == mayOn && !theirs.Bool() && mine.Bool():
		return "a project may only switch this on" + unless
	case may == mayLess && number(theirs) > number(mine):
		return "a project may only lower the user's value" + unless
	case may == mayMore && number(theirs) < number(mine):
		return "a project may only raise the user's value" + unless
	}
	return ""
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

func union(a, b reflect.Value) reflect.Value {
	all := slices.Clone(a.Interface().([]string))
	for _, text := range b.Interface().([]string) {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return reflect.ValueOf(all)
}

// rawOf returns the value of a bool, number or text in the type that the JSON decoder would give it, for example
// float64 for a number.
func rawOf(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Pointer:
		return rawOf(v.Elem())
	case v.CanInt():
		return float64(v.Int())
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}

func listOf(v reflect.Value) []any {
	list := make([]any, v.Len())
	for i := range list {
		list[i] = rawOf(v.Index(i))
	}
	return list
}

func (r *restriction) remove(key path, tree object, why string) {
	delete(tree, key[len(key)-1])
	r.loader.warnKey(r.project, key, why)
}
