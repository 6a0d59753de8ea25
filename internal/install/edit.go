package install

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/jsonc"
)

type former struct {
	HasPlugin     bool `json:"has_plugin"`
	HasCompaction bool `json:"has_compaction"`
	// Entry is the spec of a shim that the list had before the installation, or "".
	Entry string `json:"entry,omitempty"`
	// Compaction holds the former values of the keys in switchesOff, if they were set.
	Compaction map[string]json.Value `json:"compaction,omitempty"`
}

// The method `former` reads the values that an uninstallation has to restore later. If a value in the document has the
// wrong type, for example a string under "plugin", it returns an error.
func (c configuration) former(spec string) (former, error) {
	var f former
	plugins, err := c.plugins()
	if err != nil {
		return f, err
	}
	f.HasPlugin = plugins != nil
	if plugins != nil {
		if i := c.ownEntry(c.File, plugins, spec); i >= 0 {
			f.Entry, _ = jsonc.Text(*c.specOf(&plugins.Elements[i]))
		}
	}
	compaction, err := c.switchedCompaction()
	if err != nil || compaction == nil {
		return f, err
	}
	f.HasCompaction = true
	for _, key := range c.Harness.switchesOff {
		if m := jsonc.Member(compaction, key); m != nil {
			value := hujson.Value{Value: m.Value.Clone().Value}
			value.Standardize()
			if f.Compaction == nil {
				f.Compaction = make(map[string]json.Value)
			}
			f.Compaction[key] = value.Pack()
		}
	}
	return f, nil
}

// enable adds the plugin to the list, and switches compaction off if the harness needs that. `earlier` is the spec of
// an earlier installation, or "". If the list already has an entry with a different spec, enable replaces this entry
// only if the function `replace` returns true for it.
func (c configuration) enable(spec, earlier string, replace func(entry string) bool) error {
	plugins, err := c.plugins()
	if err != nil {
		return err
	}
	if plugins == nil {
		list := &hujson.Array{Elements: []hujson.ArrayElement{{Value: hujson.String(spec)}}}
		c.Add(c.Root, 0, c.Harness.List, list)
	} else if i := c.ownEntry(c.File, plugins, spec, earlier); i < 0 {
		c.AddElement(plugins, hujson.String(spec))
	} else if entry := c.specOf(&plugins.Elements[i]); c.isScriptOf(c.File, mustText(*entry), spec) || !c.sameSpec(c.File, mustText(*entry), spec) && replace(mustText(*entry)) {
		entry.Value = hujson.String(spec)
	}

	if c.Harness.HoldsCompactionBack() {
		return nil
	}
	compaction, err := c.switchedCompaction()
	if err != nil {
		return err
	}
	if compaction == nil {
		c.Add(c.Root, 0, "compaction", c.NewObject(0, hujson.Bool(false), c.Harness.switchesOff...))
		return nil
	}
	for _, key := range c.Harness.switchesOff {
		if m := jsonc.Member(compaction, key); m != nil {
			m.Value.Value = hujson.Bool(false)
		} else {
			c.Add(compaction, 1, key, hujson.Bool(false))
		}
	}
	return nil
}

// disable takes back the changes that enable has made, even if the document was edited since then. It keeps each value
// that somebody else has changed.
func (c configuration) disable(spec string, f former) error {
	plugins, err := c.plugins()
	if err != nil {
		return err
	}
	if plugins != nil {
		for i := len(plugins.Elements) - 1; i >= 0; i-- {
			entry := c.specOf(&plugins.Elements[i])
			if entry == nil || !c.sameSpec(c.File, mustText(*entry), spec) {
				continue
			}
			switch {
			case f.Entry == "":
				jsonc.RemoveElement(plugins, i)
			case !c.sameSpec(c.File, f.Entry, spec):
				entry.Value = hujson.String(f.Entry)
			}
		}
		if !f.HasPlugin && jsonc.IsBare(plugins) {
			jsonc.RemoveMember(c.Root, c.Harness.List)
		}
	}

	return c.restoreCompaction(f)
}

// maxPlugins bounds the list, because the author of a repository may have written it, and each plugin costs several
// reads.
const maxPlugins = 1000

func (c configuration) plugins() (*hujson.Array, error) {
	m := jsonc.Member(c.Root, c.Harness.List)
	if m == nil {
		return nil, nil
	}
	list, ok := m.Value.Value.(*hujson.Array)
	if !ok {
		return nil, c.ErrorAt(m.Value, `%q is not a list`, c.Harness.List)
	}
	if len(list.Elements) > maxPlugins {
		return nil, c.ErrorAt(m.Value, `%q lists more than %d plugins`, c.Harness.List, maxPlugins)
	}
	return list, nil
}

// switchedCompaction returns the compaction settings that an installation changes, or nil.
func (c configuration) switchedCompaction() (*hujson.Object, error) {
	if c.Harness.HoldsCompactionBack() {
		return nil, nil
	}
	return compactionOf(c.Document)
}

func compactionOf(d *jsonc.Document) (*hujson.Object, error) {
	m := jsonc.Member(d.Root, "compaction")
	if m == nil {
		return nil, nil
	}
	obj, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return nil, d.ErrorAt(m.Value, `"compaction" is not an object`)
	}
	return obj, nil
}

func (p Place) specOf(entry *hujson.ArrayElement) *hujson.Value {
	value := p.Harness.specOf(entry)
	if value == nil {
		return nil
	}
	if _, ok := jsonc.Text(*value); !ok {
		return nil
	}
	return value
}

func mustText(v hujson.Value) string { s, _ := jsonc.Text(v); return s }

// ownEntry returns the index of the entry that loads the shim, or -1. It prefers an entry with the first of the
// specs, then with the second, then any other.
func (p Place) ownEntry(file string, plugins *hujson.Array, specs ...string) int {
	found, rank := -1, len(specs)+1
	if plugins == nil {
		return found
	}
	for i := range plugins.Elements {
		entry := p.specOf(&plugins.Elements[i])
		if entry == nil {
			continue
		}
		text := mustText(*entry)
		at := slices.IndexFunc(specs, func(spec string) bool { return spec != "" && p.sameSpec(file, text, spec) })
		if at < 0 && p.isShim(text) {
			at = len(specs)
		}
		if at >= 0 && at < rank {
			found, rank = i, at
		}
	}
	return found
}

func isFalse(v hujson.Value) bool {
	literal, ok := v.Value.(hujson.Literal)
	return ok && bytes.Equal(literal, []byte("false"))
}

func isTrue(v hujson.Value) bool {
	literal, ok := v.Value.(hujson.Literal)
	return ok && bytes.Equal(literal, []byte("true"))
}
