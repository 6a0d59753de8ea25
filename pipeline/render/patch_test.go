package render

import (
	stdjson "encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/schema"
)

// The tests of the shims run the same files.
func TestPatchVectors(t *testing.T) {
	files, err := filepath.Glob("../../schema/testdata/patch/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var v struct {
				About   string       `json:"about"`
				Message json.Value   `json:"message"`
				Patch   schema.Patch `json:"patch"`
				Want    json.Value   `json:"want"`
				Error   bool         `json:"error"`
			}
			if err := json.Unmarshal(content, &v); err != nil {
				t.Fatal(err)
			}
			before := string(v.Message)
			got, err := Apply(v.Message, v.Patch)
			if string(v.Message) != before {
				t.Errorf("the message itself was changed: %s", v.Message)
			}
			if v.Error {
				if !errors.Is(err, ErrPatch) {
					t.Fatalf("%s: got %s, %v; want ErrPatch", v.About, got, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", v.About, err)
			}
			// encoding/json reads a lone surrogate as U+FFFD, so this comparison cannot find a difference between such bytes.
			// TestApplyKeepsOtherBytes checks them.
			if diff := cmp.Diff(parsed(t, v.Want), parsed(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", v.About, diff)
			}
		})
	}
}

func parsed(t *testing.T, v json.Value) (out any) {
	t.Helper()
	if err := stdjson.Unmarshal(v, &out); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return out
}

func TestApplyKeepsOtherBytes(t *testing.T) {
	const message = `{"info":{"id":"m","big":12345678901234567890,"e":1E400,"lone":"\ud800 \u00e9\/"},"parts":[{"type":"text","text":"a\udc00\"b"},{"x":[{}, null]}]}`
	got, err := Apply(json.Value(message), schema.Patch{{Op: "prepend", Path: "/parts/0/text", Value: json.Quote("§1§ ")}})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(message, `"text":"a`, `"text":"§1§ a`, 1)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	same, err := Apply(json.Value(message), nil)
	if err != nil || string(same) != message {
		t.Errorf("no patch: %s, %v", same, err)
	}
}

func TestApplyRefusesAPatchThatDoesNotFit(t *testing.T) {
	const message = `{"a":[1,{"b":"c"}],"s":"x"}`
	for _, op := range []schema.PatchOp{
		{Op: "replace", Path: "", Value: json.Value("1")},
		{Op: "remove", Path: ""},
		{Op: "add", Path: "a", Value: json.Value("1")},
		{Op: "remove", Path: "/a/+1"},
		{Op: "remove", Path: "/a/-1"},
		{Op: "remove", Path: "/a/ 1"},
		{Op: "remove", Path: "/a/99999999999999999999"},
		{Op: "add", Path: "/a/3", Value: json.Value("1")},
		{Op: "add", Path: "/a/00", Value: json.Value("1")},
		{Op: "replace", Path: "/s"},
		{Op: "prepend", Path: "/s"},
		{Op: "append", Path: "/s"},
		{Op: "remove", Path: "/s/0"},
		{Op: "remove", Path: "/a/1/~"},
		{Op: "", Path: "/s", Value: json.Value("1")},
	} {
		if got, err := Apply(json.Value(message), schema.Patch{op}); !errors.Is(err, ErrPatch) {
			t.Errorf("%+v: got %s, %v; want ErrPatch", op, got, err)
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add(`{"parts":[{"text":"a"}]}`, "prepend", "/parts/0/text", `"x"`)
	f.Add(`{"parts":[{"text":"a"}]}`, "append", "/parts/0/text", `"x"`)
	f.Add(` {"a" : [ 1 , 2 ] } `, "add", "/a/-", `{}`)
	f.Add(`{"a":{"a":1}}`, "remove", "/a/a", ``)
	f.Add(`[[]]`, "add", "/0/0", `null`)
	f.Add(`{"~":{"\ud800":1}}`, "replace", "/~0/�", `[]`)
	f.Add(`"a"`, "remove", "/", ``)
	f.Add(`{`, "remove", "/a", ``)
	f.Add(``, "add", "/", `1`)
	f.Fuzz(func(t *testing.T, message, op, path, value string) {
		raw := json.Value(message)
		patch := schema.Patch{{Op: op, Path: path, Value: json.Value(value)}, {Op: "replace", Path: path, Value: json.Value("7")}}
		for n := range patch {
			got, err := Apply(raw, patch[:n+1])
			if err == nil && valid(raw) && (valid(json.Value(value)) || op == "remove") && !valid(got) {
				t.Fatalf("Apply(%q, %+v) = %q", message, patch[:n+1], got)
			}
		}
	})
}

func valid(v json.Value) bool {
	var out json.Value
	return json.Unmarshal(v, &out) == nil
}
