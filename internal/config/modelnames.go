package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// anyModel is a key in the settings that map models to values. Its value holds for every model without a key of its
// own.
const anyModel = "default"

// warnModelNames warns about names that no model can have. It looks at the file's settings that map models to
// values.
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

// canBeModel reports whether a name can be a model id or "provider/model". A pattern such as "gpt-*" cannot.
func canBeModel(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n*?,") && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/")
}
