package json

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An Array is a JSON array whose elements stay raw and share the document's memory. A []Value would copy an array of
// messages twice, as a whole and in parts. A stream reuses its buffer, so no Array may be read from it.
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
