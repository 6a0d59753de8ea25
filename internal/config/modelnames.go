package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// In settings that map models to values, the key anyModel has the value for all models without a key of their own.
const anyModel = "default"

// warnModelNames warns of names that no model can have, in settings that map models to values.
func (l *loader) warnModelNames(lv *level) {
	for _, f := range fieldsOf(reflect.TypeFor[schema.Config]()) {
		byModel, ok := lv.tree[f.name].(object)
		if !ok || f.rules.bare != anyModel {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(byModel)) {
			switch {
			case name == anyModel:
			case nearest(name, []string{anyModel}) != "":
				l.warnKey(lv, path{f.name, name}, fmt.Sprintf("fits no model; did you mean %s?", anyModel))
			case !canBeModel(name):
				l.warnKey(lv, path{f.name, name}, fmt.Sprintf(`fits no model: write a model id, "provider/model", or %q`, anyModel))
			}
		}
	}
}

// A name may be a model id or "provider/model", but not a pattern such as "gpt-*".
func canBeModel(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n*?,") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
}
