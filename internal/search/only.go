package search

import (
	"maps"
	"slices"

	"github.com/magicctx/magicctx-host/store/index"
)

// onlys are the filters that have a name.
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

// Only returns the filter with a name, and whether there is one. For the name "", the filter leaves out nothing.
func Only(name string) (index.Filter, bool) {
	f, ok := onlys[name]
	return f, ok || name == ""
}

// Onlys returns the names of the filters.
func Onlys() []string { return slices.Sorted(maps.Keys(onlys)) }
