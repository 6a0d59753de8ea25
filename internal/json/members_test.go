package json

import (
	"bytes"
	"strings"
	"testing"
)

func TestMembersSplitsOneLevel(t *testing.T) {
	names, members, err := Members(Value(`{"a":1, "b\"c":[1,{"x":"]}"}] ,"d":"e\\","f":{},"g":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(names, " "), `a b"c d f g`; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
	if got, want := string(bytes.Join(raw(members), []byte(" "))), `1 [1,{"x":"]}"}] "e\\" {} null`; got != want {
		t.Errorf("members %q, want %q", got, want)
	}
	for _, v := range []string{"", "1", `"x"`, "[", `{"a"`, `{"a":`, `[1`, `[,]`, `{"a" 1}`} {
		if _, _, err := Members(Value(v)); err == nil {
			t.Errorf("Members(%q) is no error", v)
		}
	}
}

func raw(values []Value) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`[]`, `{}`, `[1,"a",[2]]`, `{"a":{"b":"\""}}`, ` [ 1 , 2 ] `, `["\\\\"]`, `[`, `{"a"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, members, err := Members(data)
		var want []Value
		if Unmarshal(data, &want) != nil {
			return // the array is not valid, so it is enough that nothing panics
		}
		if err != nil || len(members) != len(want) {
			t.Fatalf("Members(%q) = %d members, %v; want %d", data, len(members), err, len(want))
		}
		for i := range want {
			if !bytes.Equal(members[i], want[i]) {
				t.Fatalf("member %d of %q is %q, want %q", i, data, members[i], want[i])
			}
		}
	})
}
