package search

import (
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/store/index"
)

var onlys = map[string]index.Filter{
	"user":     {Kinds: []index.Kind{index.Text}, Role: index.User},
	"agent":    {Kinds: []index.Kind{index.Text}, Role: index.Agent},
	"rule":     {Kinds: []index.Kind{index.Rule}},
	"decision": {Kinds: []index.Kind{index.Decision}},
	"command":  {Kinds: []index.Kind{index.Command}},
	"error":    {Kinds: []index.Kind{index.Error}},
	"file":     {Kinds: []index.Kind{index.Read, index.Write}},
	"commit":   {Kinds: []index.Kind{index.Commit}},
}

// The filter with the name "" leaves out nothing.
func Only(name string) (index.Filter, bool) {
	f, ok := onlys[name]
	return f, ok || name == ""
}

func Onlys() []string { return slices.Sorted(maps.Keys(onlys)) }
