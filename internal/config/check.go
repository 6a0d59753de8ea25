package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/magicctx/magicctx-host/schema"
)

// A checker checks the values after the user's file and the project's file were merged. It would be wrong to check the
// project's file alone: the default would replace a bad value in this file, and would then override the user's good
// value.
type checker struct {
	levels   []*level // the project comes first, because it overrides the user
	warnings *warnings
	bad      int      // number of rejected values so far
	ignored  []string // agents whose block has bad values
	// inAgent is true while the checker reads the block of an agent. One bad value makes the whole block invalid.
	inAgent bool
}

func (c *checker) config(tree object) schema.Config {
	var cfg schema.Config
	into := reflect.ValueOf(&cfg).Elem()
	setDefaults(into)
	c.object(nil, tree, into)
	c.requireBlock("dreamer", &cfg.Dreamer.Disable)
	c.requireBlock("sidekick", &cfg.Sidekick.Disable)
	c.completeEmbedding(&cfg.Embedding)
	c.checkLowMark(&cfg)
	c.checkTasks(&cfg)
	return cfg
}

// The method `object` writes the values of `raw` into a struct that contains the defaults. It reports whether all
// required keys are present.
func (c *checker) object(at path, raw object, into reflect.Value) bool {
	complete := true
	fields := fieldsOf(into.Type())
	for _, f := range fields {
		value, ok := raw[f.name]
		if !ok && !f.rules.required {
			continue
		}
		key, target := at.with(f.name), into.FieldByIndex(f.index)
		if f.rules.isAgentBlock {
			c.agent(key, value, f.rules, target)
			continue
		}
		taken := c.value(key, value, f.rules, target)
		complete = complete && (taken || !f.rules.required)
	}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			c.unknown(at.with(name))
		}
	}
	return complete
}

// The method `value` checks a value and writes it into `into`. If the value is bad, the default stays. A bad value
// inside a map or list is left out.
func (c *checker) value(at path, raw any, r rules, into reflect.Value) bool {
	switch into.Kind() {
	case reflect.Pointer:
		target := reflect.New(into.Type().Elem())
		if !c.value(at, raw, r, target.Elem()) {
			return false
		}
		into.Set(target)
		return true
	case reflect.Struct:
		tree, ok := raw.(object)
		if !ok {
			return c.reject(at, raw, r, into)
		}
		return c.object(at, tree, into)
	case reflect.Map:
		return c.mapping(at, raw, r, into)
	case reflect.Slice:
		return c.list(at, raw, r, into)
	}
	value, ok := r.scalar(raw, into.Type())
	if !ok || isShare(at, raw) {
		return c.reject(at, raw, r, into)
	}
	into.Set(value)
	return true
}

// isShare reports whether the user wrote a percentage as a share, for example 0.15 instead of 15. No percentage in this
// configuration makes sense between 0 and 1.
func isShare(at path, raw any) bool {
	n, ok := raw.(float64)
	return ok && n > 0 && n <= 1 && strings.HasSuffix(at[0], "_percentage")
}

func (c *checker) mapping(at path, raw any, r rules, into reflect.Value) bool {
	t := into.Type()
	entries, ok := raw.(object)
	if !ok {
		value, ok := r.scalarOrNothing(raw, t.Elem())
		if !ok {
			return c.reject(at, raw, r, into)
		}
		into.Set(reflect.MakeMap(t))
		into.SetMapIndex(reflect.ValueOf(r.bare), value)
		return true
	}
	into.Set(reflect.MakeMap(t))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		entry := reflect.New(t.Elem()).Elem()
		if entry.Kind() == reflect.Struct {
			setDefaults(entry)
		}
		if c.value(at.with(key), entries[key], r, entry) {
			into.SetMapIndex(reflect.ValueOf(key), entry)
		}
	}
	return true
}

func (c *checker) list(at path, raw any, r rules, into reflect.Value) bool {
	t := into.Type()
	entries, ok := raw.([]any)
	if !ok {
		value, ok := r.scalarOrNothing(raw, t.Elem())
		if !ok {
			return c.reject(at, raw, r, into)
		}
		into.Set(reflect.Append(reflect.MakeSlice(t, 0, 1), value))
		return true
	}
	list := reflect.MakeSlice(t, 0, len(entries))
	for i, entry := range entries {
		if r.isPattern && i == maxPatterns {
			c.tooMany(at, len(entries)-i)
			break
		}
		target := reflect.New(t.Elem()).Elem()
		if c.value(at.with("["+strconv.Itoa(i)+"]"), entry, r, target) {
			list = reflect.Append(list, target)
		}
	}
	into.Set(list)
	return true
}

func (c *checker) tooMany(at path, ignored int) {
	from := c.origin(at)
	c.warnings.add(Warning{
		File: from.file, Line: from.line(at), Key: at.String(), Allowed: fmt.Sprintf("at most %d patterns", maxPatterns),
		Message: fmt.Sprintf("%s: %s has more than %d patterns; the last %d are ignored", from.place(at), at, maxPatterns, ignored),
	})
}

// Some maps have a short form: for example, 65 means {"default": 65}. scalarOrNothing reads such a single value. If the
// map has no short form, it returns false.
func (r rules) scalarOrNothing(raw any, elem reflect.Type) (reflect.Value, bool) {
	if r.bare == "" {
		return reflect.Value{}, false
	}
	return r.scalar(raw, elem)
}

// The method `agent` reads the block of one agent. If one value is bad, it ignores the whole block, because the rest of
// the block might start an expensive model. But if the block disables the agent, the agent stays disabled.
func (c *checker) agent(at path, raw any, r rules, into reflect.Value) {
	before := c.bad
	c.inAgent = true
	c.value(at, raw, r, into)
	c.inAgent = false
	if c.bad == before {
		return
	}
	disable := into.FieldByName("Disable")
	// If "disable" is neither true nor false, for example "yes", the author most likely wanted to disable the agent.
	block, _ := raw.(object)
	written, isWritten := block["disable"]
	_, isBool := written.(bool)
	isOff := disable.Bool() || isWritten && !isBool
	setDefaults(into)
	disable.SetBool(isOff)
	c.ignored = append(c.ignored, at[0])
	c.forget(at[0])
	from := c.origin(at)
	message := fmt.Sprintf("%s: the whole block %s is ignored, because of its bad values", from.place(at), at)
	switch {
	case isOff:
		message += "; it is switched off"
	case at[0] != "historian":
		message += "; it is off, as without this block"
	default:
		message += "; it stays on, with its defaults"
	}
	c.warnings.add(Warning{File: from.file, Line: from.line(at), Key: at.String(), Message: message})
}

func (c *checker) forget(name string) {
	for _, lv := range c.levels {
		delete(lv.named, name)
	}
}

// requireBlock disables an optional agent unless a file has a block for it (lv.named). Two kinds of blocks do not
// count: a block that exists only because an old key was moved into it, and a block that contains only pin_key_files,
// because key files work without the dreamer.
func (c *checker) requireBlock(name string, disable *bool) {
	for _, lv := range c.levels {
		if lv.named[name] {
			return
		}
	}
	*disable = true
}

func isAgent(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Type == reflect.TypeFor[schema.Agent]()
}

func (c *checker) completeEmbedding(e *schema.Embedding) {
	for _, text := range []*string{&e.Model, &e.Endpoint, &e.APIKey, &e.InputType, &e.Truncate} {
		*text = strings.TrimSpace(*text)
	}
	if e.Provider == schema.EmbeddingOff || e.Endpoint != "" && e.Model != "" {
		return
	}
	at := path{"embedding", "provider"}
	from := c.origin(at)
	c.warnings.add(Warning{
		File: from.file, Line: from.line(at), Key: at.String(), Value: compact(e.Provider), Allowed: "needs embedding.endpoint and embedding.model",
		Message: fmt.Sprintf("%s: embedding.provider is openai-compatible, which needs embedding.endpoint and embedding.model; embedding is off", from.place(at)),
	})
	e.Provider = schema.EmbeddingOff
}

// checkLowMark ignores a low mark unless it is below the high marks of all models. Otherwise a bust would free nothing,
// and the next request would bust again.
func (c *checker) checkLowMark(cfg *schema.Config) {
	high := cfg.ExecuteThresholdPercentage
	for _, model := range slices.Sorted(maps.Keys(high)) {
		if cfg.LowMarkPercentage < high[model] {
			continue
		}
		whose := ""
		if model != "default" {
			whose = " for " + model
		}
		at := path{"low_mark_percentage"}
		from := c.origin(at)
		w := Warning{File: from.file, Line: from.line(at), Key: at.String(), Value: compact(cfg.LowMarkPercentage), Allowed: "a number below execute_threshold_percentage"}
		w.Message = fmt.Sprintf("%s: %s is %s, but takes %s, which is %g%s; ignored", from.place(at), at, w.Value, w.Allowed, high[model], whose)
		c.warnings.add(w)
		cfg.LowMarkPercentage = 0
	}
}

// checkTasks warns if the dreamer has no tasks. Its runs would do nothing, and nobody would see why.
func (c *checker) checkTasks(cfg *schema.Config) {
	if cfg.Dreamer.Disable || len(cfg.Dreamer.Tasks) > 0 {
		return
	}
	at := path{"dreamer", "tasks"}
	from := c.origin(at)
	c.warnings.add(Warning{
		File: from.file, Line: from.line(at), Key: at.String(), Value: "[]", Allowed: "at least one task",
		Message: fmt.Sprintf("%s: dreamer.tasks is empty, so the dreamer does nothing; dreamer.disable switches it off", from.place(at)),
	})
}

// The method `reject` always returns false, so that callers can return its result.
func (c *checker) reject(at path, raw any, r rules, into reflect.Value) bool {
	c.bad++
	if c.warnings.full() {
		return false
	}
	from := c.origin(at)
	w := Warning{File: from.file, Line: from.line(at), Key: at.String(), Allowed: r.allowed(into.Type())}
	w.Value = show(at[len(at)-1], raw, from.substituted[at.String()])
	fallback := "ignored"
	switch {
	case c.inAgent: // the next warning says what counts instead
	case into.Kind() == reflect.Struct || into.IsZero():
	case into.Kind() == reflect.Map && r.bare != "" && into.MapIndex(reflect.ValueOf(r.bare)).IsValid():
		fallback = "using " + compact(into.MapIndex(reflect.ValueOf(r.bare)).Interface())
	default:
		fallback = "using " + compact(into.Interface())
	}
	w.Message = fmt.Sprintf("%s: %s is %s, but takes %s%s; %s", from.place(at), w.Key, w.Value, w.Allowed, reason(at, raw), fallback)
	c.warnings.add(w)
	return false
}

func reason(at path, raw any) string {
	if isShare(at, raw) {
		share := raw.(float64)
		return fmt.Sprintf(" (it is a percentage: a share of %.4g is written %.4g)", share, share*100)
	}
	if text, ok := raw.(string); ok && text != "" && isModel(at) {
		return " (the name of the provider comes first)"
	}
	return because[at.String()]
}

func isModel(at path) bool {
	return len(at) > 1 && (at[1] == "model" || at[1] == "fallback_models")
}

var because = map[string]string{
	"dreamer.schedule":             " (begin and end differ; \"\" means only on request, or after idle_minutes)",
	"embedding.provider":           " (magicctx runs no model itself; a local server, for example Ollama, is openai-compatible)",
	"execute_threshold_percentage": " (above 80 too little room is left before a request may no longer fit)",
}

func (c *checker) unknown(at path) {
	if c.warnings.full() {
		return
	}
	from := c.origin(at)
	message := fmt.Sprintf("%s: %s is not a known key", from.place(at), at)
	if meant := meantKey(at); meant != nil {
		message += fmt.Sprintf("; did you mean %s?", meant)
	}
	c.warnings.add(Warning{File: from.file, Line: from.line(at), Key: at.String(), Message: message})
}

func (c *checker) origin(at path) *level {
	for ; len(at) > 0; at = at[:len(at)-1] { // a required key may be missing; then its parent decides
		for _, lv := range c.levels {
			if _, ok := lookup(lv.tree, at); ok {
				return lv
			}
		}
	}
	return &level{}
}
