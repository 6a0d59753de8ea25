package json

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func TestArrayReadsTheSameAsASlice(t *testing.T) {
	for _, text := range []string{
		`[]`, `null`, `[1]`, ` [ {"a":[1,2]} , "x\ud800" , null ] `, `{}`, `"x"`, `3`, `[1 2]`, `[1,]`, `[1`, ``, `[{"a":}]`, "[\"\xff\"]", `[{"a":1,"a":2}]`, `[] x`,
	} {
		var slice []Value
		var array Array
		want, got := Unmarshal([]byte(text), &slice), Unmarshal([]byte(text), &array)
		if (want == nil) != (got == nil) {
			t.Errorf("%s: error %v, want %v", text, got, want)
		}
		if want == nil && (!cmp.Equal([]Value(array), slice) || (array == nil) != (slice == nil)) {
			t.Errorf("%s: %q, want %q", text, array, slice)
		}
	}
}

func TestArrayAliasesTheDocument(t *testing.T) {
	text := []byte(`{"parts":[{"a":1},"two"]}`)
	var v struct {
		Parts Array `json:"parts"`
	}
	if err := Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if &v.Parts[0][0] != &text[10] || unsafe.SliceData(v.Parts[1]) != &text[18] {
		t.Error("an element was copied")
	}
	if cap(v.Parts[0]) != len(v.Parts[0]) {
		t.Error("appending to an element would overwrite the next one")
	}
}
