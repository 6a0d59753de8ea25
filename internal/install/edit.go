package install

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A former holds the values that a removal may have to put back into a configuration.
type former struct {
	HasPlugin     bool `json:"has_plugin"`
	HasCompaction bool `json:"has_compaction"`
	// Entry is the spec of a shim that was listed before, if any.
	Entry string `json:"entry,omitempty"`
	// Compaction holds the former values of the keys in the harness's switchesOff, if they were set.
	Compaction map[string]json.Value `json:"compaction,omitempty"`
}

// former reads the values that a later removal has to restore. It fails if the document has a value of the wrong
// type where an insertion is needed, for example a string under "plugin".
func (c configuration) former(spec string) (former, error) {
	var f former
	plugins, err := c.plugins()
	if err != nil {
		return f, err
	}
	f.HasPlugin = plugins != nil
	if plugins != nil {
		if i := c.ownEntry(c.file, plugins, spec); i >= 0 {
			f.Entry, _ = text(*c.specOf(&plugins.Elements[i]))
		}
	}
	compaction, err := c.switchedCompaction()
	if err != nil || compaction == nil {
		return f, err
	}
	f.HasCompaction = true
	for _, key := range c.Harness.switchesOff {
		if m := member(compaction, key); m != nil {
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

// enable adds the plugin to the list, unless the list already has it in some form. If the harness needs it,
// enable also switches compaction off. earlier is the spec of an earlier installation, if any. If replace
// accepts an entry of the shim with another spec, the new spec replaces that entry.
func (c configuration) enable(spec, earlier string, replace func(entry string) bool) error {
	plugins, err := c.plugins()
	if err != nil {
		return err
	}
	if plugins == nil {
		list := &hujson.Array{Elements: []hujson.ArrayElement{{Value: hujson.String(spec)}}}
		addMember(c.document, c.Harness.List, func(layout, string) hujson.ValueTrimmed { return list })
	} else if i := c.ownEntry(c.file, plugins, spec, earlier); i < 0 {
		addElement(c.document, plugins, hujson.String(spec))
	} else if entry := c.specOf(&plugins.Elements[i]); c.isScriptOf(c.file, mustText(*entry), spec) || !c.sameSpec(c.file, mustText(*entry), spec) && replace(mustText(*entry)) {
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
		addMember(c.document, "compaction", func(l layout, indent string) hujson.ValueTrimmed {
			return l.switchesOff(indent, c.Harness.switchesOff)
		})
		return nil
	}
	for _, key := range c.Harness.switchesOff {
		if m := member(compaction, key); m != nil {
			m.Value.Value = hujson.Bool(false)
		} else {
			addInner(c.document, compaction, key)
		}
	}
	return nil
}

// disable undoes enable in a document that was edited since. If the author has changed a value again, the
// value stays.
func (c configuration) disable(spec string, f former) error {
	plugins, err := c.plugins()
	if err != nil {
		return err
	}
	if plugins != nil {
		for i := len(plugins.Elements) - 1; i >= 0; i-- {
			entry := c.specOf(&plugins.Elements[i])
			if entry == nil || !c.sameSpec(c.file, mustText(*entry), spec) {
				continue
			}
			switch {
			case f.Entry == "":
				remove(elements{plugins}, i)
			case !c.sameSpec(c.file, f.Entry, spec):
				entry.Value = hujson.String(f.Entry)
			}
		}
		if !f.HasPlugin && isBare(elements{plugins}) {
			removeMember(c.root, c.Harness.List)
		}
	}

	return c.restoreCompaction(f)
}

// maxPlugins bounds the work on a list that a repository wrote: several files are read for each plugin.
const maxPlugins = 1000

// plugins returns the list of plugins, nil if the document has none.
func (c configuration) plugins() (*hujson.Array, error) {
	m := member(c.root, c.Harness.List)
	if m == nil {
		return nil, nil
	}
	list, ok := m.Value.Value.(*hujson.Array)
	if !ok {
		return nil, c.errorAt(m.Value, `%q is not a list`, c.Harness.List)
	}
	if len(list.Elements) > maxPlugins {
		return nil, c.errorAt(m.Value, `%q lists more than %d plugins`, c.Harness.List, maxPlugins)
	}
	return list, nil
}

// switchedCompaction returns the object of compaction settings if an installation changes it. It returns nil
// if an installation does not change it, or if the document has none.
func (c configuration) switchedCompaction() (*hujson.Object, error) {
	if c.Harness.HoldsCompactionBack() {
		return nil, nil
	}
	return compactionOf(c.document)
}

// compactionOf returns the object of compaction settings, nil if the document has none.
func compactionOf(d *document) (*hujson.Object, error) {
	m := member(d.root, "compaction")
	if m == nil {
		return nil, nil
	}
	obj, ok := m.Value.Value.(*hujson.Object)
	if !ok {
		return nil, d.errorAt(m.Value, `"compaction" is not an object`)
	}
	return obj, nil
}

// specOf returns the spec of an entry, nil if the entry has no text where its harness reads one.
func (p Place) specOf(entry *hujson.ArrayElement) *hujson.Value {
	value := p.Harness.specOf(entry)
	if value == nil {
		return nil
	}
	if _, ok := text(*value); !ok {
		return nil
	}
	return value
}

func mustText(v hujson.Value) string { s, _ := text(v); return s }

// ownEntry returns the index of the entry that loads the shim, -1 if there is none. It prefers an entry with
// the first of the specs, then an entry with the second one, then any other entry that is known to load the
// shim.
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

// addMember appends a member to the root. addMember calls value with the layout, and with the indentation of
// the member's line.
func addMember(d *document, name string, value func(l layout, indent string) hujson.ValueTrimmed) {
	l := layoutOf(d)
	root := members{d.root}
	var lead, tail hujson.Extra
	if root.len() == 0 {
		lead = l.open(root, true, "", l.indent)
	} else {
		lead, tail = l.appendTo(root)
	}
	d.root.Members = append(d.root.Members, l.member(name, value(l, l.indent), lead, tail))
}

// addInner appends a compaction key.
func addInner(d *document, compaction *hujson.Object, key string) {
	l := layoutOf(d)
	c := members{compaction}
	var lead, tail hujson.Extra
	if c.len() == 0 {
		lead = l.open(c, l.multiline, l.indent, l.indent+l.indent)
	} else {
		lead, tail = l.appendTo(c)
	}
	compaction.Members = append(compaction.Members, l.member(key, hujson.Bool(false), lead, tail))
}

// addElement appends to the list of plugins.
func addElement(d *document, plugins *hujson.Array, value hujson.Literal) {
	l := layoutOf(d)
	c := elements{plugins}
	var lead, tail hujson.Extra
	if c.len() == 0 {
		l.padding = "" // a list in one line is written ["a", "b"]
		lead = l.open(c, false, l.indent, l.indent+l.indent)
	} else {
		lead, tail = l.appendTo(c)
	}
	plugins.Elements = append(plugins.Elements, hujson.ArrayElement{BeforeExtra: lead, Value: value, AfterExtra: tail})
}

// switchesOff returns an object such as {"auto": false, "prune": false}.
func (l layout) switchesOff(indent string, keys []string) hujson.ValueTrimmed {
	lead, separator, end := l.padding, l.gap, l.padding
	if l.multiline {
		lead = l.newline + indent + indent
		separator, end = lead, l.newline+indent
	}
	obj := &hujson.Object{AfterExtra: hujson.Extra(end)}
	for _, key := range keys {
		obj.Members = append(obj.Members, l.member(key, hujson.Bool(false), hujson.Extra(lead), nil))
		lead = separator
	}
	return obj
}

func (l layout) member(name string, value hujson.ValueTrimmed, lead, tail hujson.Extra) hujson.ObjectMember {
	return hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: lead, Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(l.colon), Value: value, AfterExtra: tail},
	}
}

func removeMember(obj *hujson.Object, name string) {
	for i := len(obj.Members) - 1; i >= 0; i-- {
		if isNamed(obj.Members[i], name) {
			remove(members{obj}, i)
			return
		}
	}
}

// isBare reports whether c has neither children nor comments.
func isBare(c children) bool { return c.len() == 0 && !hasComment(*c.lead(0)) }

func isFalse(v hujson.Value) bool {
	literal, ok := v.Value.(hujson.Literal)
	return ok && bytes.Equal(literal, []byte("false"))
}

func isTrue(v hujson.Value) bool {
	literal, ok := v.Value.(hujson.Literal)
	return ok && bytes.Equal(literal, []byte("true"))
}
