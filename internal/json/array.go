package json

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An Array is a JSON array whose elements have not been decoded. After Unmarshal, the elements alias the
// document. With a []Value, they would be copies: an array of messages would be copied twice, once as a
// whole and once in parts. An Array must not be read from a stream, because a stream reuses its buffer.
type Array []Value

// UnmarshalJSONFrom implements the interface of package json for types that read their own value.
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
