package jsonc

import (
	"errors"
	"math"
	"strconv"

	"github.com/tailscale/hujson"
)

// If no float64 can hold a number, such as 1e400, the decoder would refuse the whole file. BoundNumbers replaces the
// number with the largest float64, so that only its key gets a warning.
func BoundNumbers(document *hujson.Value) {
	for v := range document.All() {
		literal, ok := v.Value.(hujson.Literal)
		if !ok || literal.Kind() != '0' {
			continue
		}
		if n, err := strconv.ParseFloat(string(literal), 64); errors.Is(err, strconv.ErrRange) {
			v.Value = hujson.Float(math.Copysign(math.MaxFloat64, n))
		}
	}
}
