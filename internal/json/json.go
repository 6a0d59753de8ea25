package json

import (
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Value is undecoded JSON. If Unmarshal fills a Value, it copies the bytes. In contrast, the elements of an Array and
// the results of Members share the memory of their document.
type Value = jsontext.Value

// `untouched` preserves the JSON that JavaScript wrote. Without PreserveRawStrings, JSON v2 would rewrite escapes.
// Without AllowInvalidUTF8, a single lone surrogate would make a whole pass fail.
var untouched = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.PreserveRawStrings(true),
)

// Deterministic sorts the members of Go maps, for bytes that are stored, compared or hashed.
var Deterministic = jsonv2.Deterministic(true)

// Marshal returns v as compact JSON with sorted map members.
func Marshal(v any) ([]byte, error) { return jsonv2.Marshal(v, untouched, Deterministic) }

func MarshalIndent(v any) ([]byte, error) {
	return jsonv2.Marshal(v, untouched, Deterministic, jsontext.WithIndent("  "))
}

func Unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v, untouched) }

// UnmarshalStrict refuses members that v does not have.
func UnmarshalStrict(data []byte, v any) error {
	return jsonv2.Unmarshal(data, v, untouched, jsonv2.RejectUnknownMembers(true))
}

func UnmarshalRead(r io.Reader, v any) error { return jsonv2.UnmarshalRead(r, v, untouched) }

func IsValid(data []byte) bool { return Value(data).IsValid(untouched) }

func MarshalWrite(w io.Writer, v any) error {
	return jsonv2.MarshalWrite(w, v, untouched, Deterministic)
}

// NewDecoder is as lenient as Unmarshal.
func NewDecoder(r io.Reader) *jsontext.Decoder { return jsontext.NewDecoder(r, untouched) }

// Invalid UTF-8 becomes U+FFFD.
func Quote(s string) Value {
	b, _ := jsontext.AppendQuote(nil, s) // the only error is invalid UTF-8, which b already replaces
	return Value(b)
}
