package json

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An Array is a JSON array. Its elements stay raw, and are slices of the document's bytes. Decoding an array of
// messages into a []Value would copy the bytes twice: once as a whole, and once for each element. Never decode an Array
// from a stream. A stream reuses its buffer, and would overwrite the elements.
type Array []Value

// UnmarshalJSONFrom implements jsonv2.UnmarshalerFrom.
func (a *Array) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*a = nil
	switch kind := dec.PeekKind(); kind {
	case 'n':
		return dec.SkipValue()
	case '[':
	case 0:
		_, err := dec.ReadToken() // ReadToken returns the syntax error
		return err
	default:
		return fmt.Errorf("%v in place of an array", kind)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*a = Array{}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*a = append(*a, v[:len(v):len(v)])
	}
	_, err := dec.ReadToken()
	return err
}
