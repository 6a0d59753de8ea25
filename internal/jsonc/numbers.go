package jsonc

import (
	"errors"
	"math"
	"strconv"

	"github.com/tailscale/hujson"
)

// The decoder would refuse a whole file because of a number that no float64 can hold, such as 1e400. BoundNumbers
// replaces such a number with the largest float64, so that only its key gets a warning.
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
