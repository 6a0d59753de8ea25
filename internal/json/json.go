package json

import (
	"io"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Value is a raw JSON value. Unmarshal copies it; the elements of an Array and the Members of a value alias
// the document.
type Value = jsontext.Value

// untouched preserves the JSON that JavaScript wrote. Without PreserveRawStrings,
// JSON v2 would rewrite escapes. Without AllowInvalidUTF8, one lone surrogate
// would fail a whole pass.
var untouched = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
	jsontext.PreserveRawStrings(true),
)

// Deterministic sorts the members of Go maps. It is for bytes that are stored,
// compared or hashed.
var Deterministic = jsonv2.Deterministic(true)

// Marshal returns v as compact JSON. Map members are sorted.
func Marshal(v any) ([]byte, error) { return jsonv2.Marshal(v, untouched, Deterministic) }

// MarshalIndent returns v as JSON for people, indented by two blanks.
func MarshalIndent(v any) ([]byte, error) {
	return jsonv2.Marshal(v, untouched, Deterministic, jsontext.WithIndent("  "))
}

// Unmarshal decodes data into v.
func Unmarshal(data []byte, v any) error { return jsonv2.Unmarshal(data, v, untouched) }

// UnmarshalStrict decodes data into v, and refuses members that v does not have.
func UnmarshalStrict(data []byte, v any) error {
	return jsonv2.Unmarshal(data, v, untouched, jsonv2.RejectUnknownMembers(true))
}

// UnmarshalRead decodes the whole of r.
func UnmarshalRead(r io.Reader, v any) error { return jsonv2.UnmarshalRead(r, v, untouched) }

// IsValid reports whether Unmarshal can read data.
func IsValid(data []byte) bool { return Value(data).IsValid(untouched) }

// MarshalWrite writes v to w as compact JSON.
func MarshalWrite(w io.Writer, v any) error {
	return jsonv2.MarshalWrite(w, v, untouched, Deterministic)
}

// NewDecoder reads a stream of JSON values and is as lenient as Unmarshal.
func NewDecoder(r io.Reader) *jsontext.Decoder { return jsontext.NewDecoder(r, untouched) }

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) Value {
	b, _ := jsontext.AppendQuote(nil, s) // the only error is invalid UTF-8, which b already replaces
	return Value(b)
}
