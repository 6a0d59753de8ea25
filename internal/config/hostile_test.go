package config

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

type loadFunc func(user, project string, trusted bool) (schema.Config, []Warning)

func newLoad(t *testing.T) loadFunc {
	root := t.TempDir()
	return func(user, project string, trusted bool) (schema.Config, []Warning) {
		return loadBoth(t, root, user, project, trusted)
	}
}

func loadBoth(t *testing.T, root, user, project string, trusted bool) (schema.Config, []Warning) {
	t.Helper()
	dir := filepath.Join(root, "clone")
	if trusted {
		text, err := json.Marshal([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		user = `{"trusted_projects": ` + string(text) + strings.Replace(user, "{", ",", 1)
		user = strings.Replace(user, ",}", "}", 1)
	}
	write(t, filepath.Join(root, "config", "magicctx", "magicctx.jsonc"), user)
	write(t, filepath.Join(dir, "magicctx.jsonc"), project)
	return Load(Options{Harness: schema.HarnessOpenCode, Directory: dir, Env: func(name string) string {
		return map[string]string{"HOME": root, "XDG_CONFIG_HOME": filepath.Join(root, "config")}[name]
	}})
}

// A cloned repository cannot make requests expensive, hang a prompt, start agents, or choose where text is sent.
func TestHostileCloneRaisesNoCosts(t *testing.T) {
	load := newLoad(t)
	for _, project := range []string{
		`{"cache_ttl": "0s"}`,
		`{"preserved_thinking": "off"}`,
		`{"execute_threshold_percentage": 20}`,
		`{"execute_threshold_percentage": {"anthropic/claude": 20}}`,
		`{"execute_threshold_percentage": 80}`,
		`{"execute_threshold_percentage": {"anthropic/claude": 80}}`,
		`{"execute_threshold_tokens": 5000}`,
		`{"low_mark_percentage": 75}`,
		`{"transform_timeout_ms": 600000}`,
		`{"resync_timeout_ms": 600000}`,
		`{"transform_timeout_ms": 100}`,
		`{"historian_timeout_ms": 2000000000}`,
		`{"historian_timeout_ms": 60000}`,
		`{"historian": {"temperature": 2, "top_p": 0}}`,
		`{"protected_tags": 1}`,
		`{"protected_tags": 100}`,
		`{"clear_reasoning_age": 1000}`,
		`{"auto_drop": {"protected_tools": []}}`,
		`{"auto_drop": {"protected_tools": ["*"], "protected_paths": ["**"]}}`,
		`{"auto_drop": {"duplicates": false, "superseded_writes": false, "old_errors": false, "error_steps": 1000, "turn_protection": 1000}}`,
		`{"project_docs": {"budget_percentage": 100}}`,
		`{"embedding": {"provider": "openai-compatible", "model": "m", "endpoint": "https://collector.example.com", "api_key": "k"}}`,
		`{"embedding": {"model": "dear"}}`,
		`{"embedding": {"provider": "off"}}`,
		`{"historian": {"model": "dear/one", "fallback_models": ["dear/two"]}}`,
		`{"dreamer": {}}`,
		`{"dreamer": {"disable": false, "schedule": "00:00-23:59"}}`,
		`{"sidekick": {"disable": false}}`,
		`{"experimental": {"user_memories": {"promotion_threshold": 2}}, "dreamer": {}}`,
		`{"memory": {"injection_budget_tokens": 20000}}`,
		`{"memory": {"git_commit_indexing": {"enabled": true}}}`,
		`{"command": {"x": {"template": "do evil"}}}`,
		`{"keep_subagents": true}`,
	} {
		got, _ := load(`{}`, project, false)
		if diff := cmp.Diff(Default(), got); diff != "" {
			t.Errorf("%s changes the configuration (-default +got):\n%s", project, diff)
		}
	}
	const frugal = `{"ctx_reduce_enabled": false, "temporal_awareness": false, "project_docs": {"enabled": false, "budget_percentage": 10}}`
	want, _ := load(frugal, `{}`, false)
	got, _ := load(frugal, `{"ctx_reduce_enabled": true, "temporal_awareness": true, "project_docs": {"enabled": true, "budget_percentage": 50}}`, false)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a project switches on what the user has switched off:\n%s", diff)
	}
}

func TestHostileCloneBadValuesUndoNothing(t *testing.T) {
	load := newLoad(t)
	const user = `{"enabled": false, "protected_tags": 50, "execute_threshold_percentage": {"default": 80, "a/b": 78}, "auto_drop": {"duplicates": false, "protected_paths": ["docs/**"]},
		"historian": {"disable": true}, "dreamer": {"disable": true}, "memory": {"enabled": false}, "embedding": {"provider": "off"}}`
	want, _ := load(user, `{}`, false)
	for _, project := range []string{
		`{"enabled": 1}`, `{"protected_tags": "x"}`, `{"protected_tags": 0}`, `{"execute_threshold_percentage": "low"}`, `{"execute_threshold_percentage": {"default": 1}}`,
		`{"execute_threshold_percentage": 20}`, `{"auto_drop": 1}`, `{"auto_drop": null}`, `{"auto_drop": {"duplicates": null, "protected_paths": 1}}`, `{"historian": null}`,
		`{"historian": {"temperature": 9}}`, `{"historian": {"disable": null}}`, `{"dreamer": {"disable": "no"}}`, `{"dreamer": []}`, `{"memory": {"enabled": "yes"}}`, `{"memory": []}`, `{"embedding": 1}`,
	} {
		got, warnings := load(user, project, false)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s changes the configuration (-user +got):\n%s", project, diff)
		}
		if len(warnings) == 0 {
			t.Errorf("%s: no warning", project)
		}
	}
}

// `taste` lists the keys that every project may set. No value of such a key may raise costs, delay a prompt, lose
// content, send text anywhere or start a program.
var taste = []string{
	"$schema", "memory.retrieval_count_promotion_threshold", "historian.description", "historian.color",
	"dreamer.description", "dreamer.color", "sidekick.description", "sidekick.color",
}

// Every key has a rule for projects, and Load follows the rule for lower and higher values.
func TestHostileCloneEveryKeyHasARule(t *testing.T) {
	load := newLoad(t)
	var loose []string
	for _, key := range leaves() {
		at, r := key.at, key.rules
		if r.project == mayAny {
			loose = append(loose, at.String())
		}
		low, high := samples(t, key.typ, r)
		for _, pair := range [][2]any{{low, high}, {high, low}} {
			mine, theirs := pair[0], pair[1]
			want := mine
			switch r.project {
			case mayNever, mayTrusted:
			case mayAny:
				want = theirs
			case mayOff, mayLess:
				want = low
			case mayOn, mayMore:
				want = high
			case mayAdd:
				want = slices.Concat(mine.([]string), theirs.([]string))
			default:
				t.Fatalf("%s has no rule for projects: %q", at, r.project)
			}
			check(t, load, key, mine, theirs, want, false)
			if r.project != mayNever {
				check(t, load, key, mine, theirs, theirs, true)
			}
		}
	}
	slices.Sort(loose)
	want := slices.Clone(taste)
	slices.Sort(want)
	if diff := cmp.Diff(want, loose); diff != "" {
		t.Errorf("keys that every project may set (-expected +found):\n%s", diff)
	}
}

type leaf struct {
	at    path
	typ   reflect.Type
	rules rules
	index []int // of the field in schema.Config
}

func (l leaf) of(cfg schema.Config) reflect.Value { return reflect.ValueOf(cfg).FieldByIndex(l.index) }

// The function `leaves` returns all keys whose values are not objects. If an object has a rule for projects, the rule
// applies to each of its keys.
func leaves() []leaf { return leavesOf(leaf{typ: reflect.TypeFor[schema.Config]()}) }

func leavesOf(object leaf) []leaf {
	var all []leaf
	for _, f := range fieldsOf(object.typ) {
		l := leaf{at: object.at.with(f.name), typ: object.typ.FieldByIndex(f.index).Type, rules: f.rules, index: slices.Concat(object.index, f.index)}
		if object.rules.project != "" {
			l.rules.project = object.rules.project
		}
		if l.typ.Kind() == reflect.Struct {
			all = append(all, leavesOf(l)...)
		} else {
			all = append(all, l)
		}
	}
	return all
}

// The function `samples` returns two values of a type: for example, a smaller and a larger number, or off and on.
func samples(t *testing.T, typ reflect.Type, r rules) (low, high any) {
	switch typ.Kind() {
	case reflect.Pointer:
		return samples(t, typ.Elem(), r)
	case reflect.Bool:
		return false, true
	case reflect.Int, reflect.Float64:
		low := r.min
		if math.IsInf(low, -1) {
			low = 1
		}
		high := low + (r.max-low)/2 // the greatest value may exceed the limit that another key sets
		if typ.Kind() == reflect.Int {
			high = math.Floor(high)
		}
		return low, high
	case reflect.String:
		return texts(r)
	case reflect.Slice:
		a, b := texts(r)
		return []string{a.(string)}, []string{b.(string)}
	case reflect.Map:
		switch typ.Elem().Kind() {
		case reflect.Struct:
			return map[string]any{"a": map[string]any{"template": "a", "subtask": false}}, map[string]any{"a": map[string]any{"template": "b", "subtask": false}}
		case reflect.Bool:
			return map[string]any{"bash": false}, map[string]any{"bash": true}
		}
		a, b := samples(t, typ.Elem(), r)
		return map[string]any{"default": a}, map[string]any{"default": b}
	}
	t.Fatalf("no samples of %v", typ)
	return nil, nil
}

func texts(r rules) (a, b any) {
	candidates := append(slices.Clone(r.enum), "a", "b", "a/a", "b/b", "1m", "1h", "on", "off", "#111111", "#222222", "01:00-02:00", "02:00-03:00", "[a-z]", "1x2", "2x2")
	var valid []any
	for _, c := range candidates {
		if _, ok := r.scalar(c, reflect.TypeFor[string]()); ok {
			valid = append(valid, c)
		}
	}
	return valid[0], valid[1]
}

func check(t *testing.T, load loadFunc, key leaf, mine, theirs, want any, trusted bool) {
	t.Helper()
	if key.at[0] == "trusted_projects" {
		return // the test itself needs the key, and TestStories covers it
	}
	cfg, _ := load(nested(t, key.at, mine), nested(t, key.at, theirs), trusted)
	expected, _ := load(nested(t, key.at, want), `{}`, trusted)
	if diff := cmp.Diff(key.of(expected).Interface(), key.of(cfg).Interface()); diff != "" {
		t.Errorf("%s (trusted: %v), user %v, project %v (-want +got):\n%s", key.at, trusted, mine, theirs, diff)
	}
}

func nested(t *testing.T, at path, value any) string {
	t.Helper()
	for _, key := range slices.Backward(at) {
		value = map[string]any{key: value}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestHostileCloneOddFilesChangeNothingElse(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "clone")
	user := filepath.Join(root, "config", "magicctx", "magicctx.jsonc")
	options := Options{Harness: schema.HarnessOpenCode, Directory: dir, Env: func(name string) string {
		return map[string]string{"HOME": root, "XDG_CONFIG_HOME": filepath.Join(root, "config")}[name]
	}}
	all := leaves()
	rapid.Check(t, func(rt *rapid.T) {
		for _, file := range []string{user, filepath.Join(dir, "magicctx.jsonc")} {
			text, err := json.Marshal(drawObject(rt, filepath.Base(filepath.Dir(file)), reflect.TypeFor[schema.Config]()))
			if err != nil {
				rt.Fatal(err)
			}
			write(t, file, string(text))
		}
		alone := options
		alone.Directory = ""
		mine, _ := Load(alone)
		got, _ := Load(options)
		for _, key := range all {
			before, after := key.of(mine), key.of(got)
			worsened := false
			switch key.rules.project {
			case mayNever, mayTrusted:
				worsened = !cmp.Equal(before.Interface(), after.Interface())
			case mayAdd:
				for _, text := range before.Interface().([]string) {
					worsened = worsened || !slices.Contains(after.Interface().([]string), text)
				}
			case mayMore, mayLess, mayOn, mayOff:
				if key.typ.Kind() != reflect.Map {
					worsened = worse(key.rules.project, before, after) != ""
				}
			}
			if worsened {
				rt.Fatalf("%s was %v and is %v", key.at, before, after)
			}
		}
	})
}

func drawObject(t *rapid.T, label string, typ reflect.Type) map[string]any {
	tree := map[string]any{}
	for _, f := range fieldsOf(typ) {
		if f.name == "trusted_projects" || rapid.IntRange(0, 3).Draw(t, label+f.name) > 0 {
			continue
		}
		inner := typ.FieldByIndex(f.index).Type
		odd := rapid.SampledFrom([]any{nil, true, false, 0.0, 1.0, 20.0, 70.0, 100.0, 1e6, 1e300, "", "a", "on", "1h", []any{}, []any{"a", 1.0}, map[string]any{}, map[string]any{"default": 70.0}, map[string]any{"a/b": "x"}})
		if inner.Kind() == reflect.Struct && rapid.Bool().Draw(t, label+f.name+" is an object") {
			tree[f.name] = drawObject(t, label+f.name, inner)
			continue
		}
		tree[f.name] = odd.Draw(t, label+f.name+" value")
	}
	return tree
}

// A repository may contain a link to a private file under our file name. No warning may quote the private file.
func TestHostileCloneLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "magicctx.jsonc"), `{"enabled": "pw-hunter2"}`)
	for name, link := range map[string][2]string{
		"a link":                 {filepath.Join(outside, "magicctx.jsonc"), "magicctx.jsonc"},
		"a link inside":          {"other.jsonc", "magicctx.jsonc"},
		"a link to a directory":  {outside, ".opencode"},
		"a link to nothing":      {filepath.Join(outside, "nothing"), "magicctx.jsonc"},
		"a link beside the last": {filepath.Join(outside, "magicctx.jsonc"), "magicctx.json"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "other.jsonc"), `{"enabled": "pw-hunter2"}`)
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
		config, warnings := Load(Options{Harness: schema.HarnessOpenCode, Directory: dir, Env: func(string) string { return "" }})
		if d := cmp.Diff(Default(), config); d != "" {
			t.Errorf("%s changes the configuration:\n%s", name, d)
		}
		if len(warnings) != 1 || strings.Contains(warnings[0].Message, "hunter2") || !strings.Contains(warnings[0].Message, "replace") {
			t.Errorf("%s: warnings %+v", name, warnings)
		}
		if want := ": a link, not a regular file; replace it by a copy of the file; the file is ignored"; name == "a link" && !strings.HasSuffix(warnings[0].Message, want) {
			t.Errorf("the warning is %q, want the end %q", warnings[0].Message, want)
		}
	}
}
