package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// anyModel is the key whose value holds for every model that a map by model does not name.
const anyModel = "default"

// warnModelNames warns about names in the maps by model of a file that no model can have.
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

// canBeModel reports whether a name may be a model id or "provider/model". For example, patterns may not.
func canBeModel(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n*?,") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
}
