package schema

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/json"
)

// A golden is the example file of one method. It sets every optional field. The shim's test reads the same files.
type golden struct {
	Params json.Value `json:"params"`
	Result json.Value `json:"result,omitzero"`
}

// The host and the shim must know the same fields. If only one of them knew a field, the field would be lost on its way
// to the other.
func TestGoldenOfEachMethod(t *testing.T) {
	files := map[string]bool{}
	for _, m := range Methods {
		t.Run(m.Name, func(t *testing.T) {
			path := filepath.Join("testdata", m.GoldenPath())
			files[path] = true
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := json.Unmarshal(data, &g); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			roundTrip(t, "params", m.Params, g.Params)
			if m.Result == nil {
				if g.Result != nil {
					t.Errorf("%s: a notification has no result", path)
				}
				return
			}
			roundTrip(t, "result", m.Result, g.Result)
		})
	}
	onDisk, err := filepath.Glob(filepath.Join("testdata", "method", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range onDisk {
		if !files[path] {
			t.Errorf("%s belongs to no method", path)
		}
	}
}

// roundTrip decodes value into a Go value of type typ and encodes it again. If value has a member that typ lacks, this
// member gets lost on the way, and the test fails. missingMembers finds the opposite case: members of typ that value
// lacks.
func roundTrip(t *testing.T, name string, typ reflect.Type, value json.Value) {
	t.Helper()
	decoded := reflect.New(typ)
	if err := json.Unmarshal(value, decoded.Interface()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	again, err := json.Marshal(decoded.Interface())
	if err != nil {
		t.Fatal(err)
	}
	want, got := generic(t, value), generic(t, again)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s changed on its way through %s:\n got %s\nwant %s", name, typ, again, value)
	}
	for _, member := range missingMembers(name, typ, want) {
		t.Errorf("the golden has no %s", member)
	}
}

func generic(t *testing.T, v json.Value) any {
	t.Helper()
	var decoded any
	if err := json.Unmarshal(v, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// missingMembers returns the members of typ that value lacks, as paths such as
// "result/tools/0/name". It looks at the first element of each list and map.
func missingMembers(path string, typ reflect.Type, value any) []string {
	switch typ.Kind() {
	case reflect.Pointer:
		return missingMembers(path, typ.Elem(), value)
	case reflect.Slice, reflect.Map:
		if typ == reflect.TypeFor[json.Value]() {
			return nil
		}
		elements, _ := value.([]any)
		if byKey, ok := value.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(byKey)) {
				elements = append(elements, byKey[key])
			}
		}
		if len(elements) == 0 {
			return []string{"element of " + path}
		}
		return missingMembers(path+"/0", typ.Elem(), elements[0])
	case reflect.Struct:
		object, _ := value.(map[string]any)
		var missing []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "-" {
				continue
			}
			member, ok := object[name]
			if !ok {
				missing = append(missing, path+"/"+name)
				continue
			}
			missing = append(missing, missingMembers(path+"/"+name, typ.Field(i).Type, member)...)
		}
		return missing
	}
	return nil
}
