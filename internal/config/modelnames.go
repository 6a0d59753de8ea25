package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// Some settings map models to values, for example {"default": 65, "openai/gpt-5": 80}. The value of the key anyModel
// holds for all models that are not listed.
const anyModel = "default"

// warnModelNames warns if a key of such a setting cannot be the name of a model, for example "gpt-*".
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

// canBeModel reports whether a name can be a model: an id or "provider/model", but not a pattern such as "gpt-*".
func canBeModel(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n*?,") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
}
