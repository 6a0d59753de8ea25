package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// A hostile file may hold very long keys.
const maxTypo = 64

// meantKey returns the key that the author of an unknown key probably meant, or nil. It looks in the same object
// first, then in all others, because the author may have put the key into the wrong object.
func meantKey(at path) path {
	name, object := at[len(at)-1], at[:len(at)-1]
	var here []string
	elsewhere := make(map[string][]path) // the paths of all keys, by their last name
	for _, key := range keysWithEffect(nil, reflect.TypeFor[schema.Config]()) {
		last := key[len(key)-1]
		if slices.Equal(key[:len(key)-1], object) {
			here = append(here, last)
		}
		elsewhere[last] = append(elsewhere[last], key)
	}
	if meant := nearest(name, here); meant != "" {
		return object.with(meant)
	}
	maps.DeleteFunc(elsewhere, func(_ string, keys []path) bool { return len(keys) > 1 }) // several blocks have this name, so it is ambiguous
	if meant := nearest(name, slices.Sorted(maps.Keys(elsewhere))); meant != "" {
		return elsewhere[meant][0]
	}
	return nil
}

// keysWithEffect returns the paths of all keys below `at` that the program reads.
func keysWithEffect(at path, t reflect.Type) (all []path) {
	for _, f := range fieldsOf(t) {
		if f.rules.hasNoEffect {
			continue
		}
		key := at.with(f.name)
		all = append(all, key)
		if inner := t.FieldByIndex(f.index).Type; inner.Kind() == reflect.Struct {
			all = append(all, keysWithEffect(key, inner)...)
		}
	}
	return all
}

func nearest(name string, candidates []string) string {
	if len(name) > maxTypo {
		return ""
	}
	name = plain(name)
	best, bestDistance := "", 2+len(name)/6
	for _, candidate := range candidates {
		if d := distance(name, plain(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// protectedTags and protected_tags become equal.
func plain(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
