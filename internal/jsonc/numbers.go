package jsonc

import (
	"errors"
	"math"
	"strconv"

	"github.com/tailscale/hujson"
)

// BoundNumbers replaces each number that no float64 can hold, such as 1e400, with the largest float64 of the same sign.
// The decoder would refuse the whole file because of such a number. With the replacement, only the number's key gets a
// warning.
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
