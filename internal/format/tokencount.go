package format

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// A TokenCount is a number of tokens on the command line, for example 64000, 64k or 1m.
type TokenCount int

// A Percentage is a share on the command line, for example 70 or 70%.
type Percentage float64

func (p *Percentage) UnmarshalText(text []byte) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(string(text), "%"), 64)
	if err != nil || math.IsNaN(n) {
		return errors.New("not a percentage: write for example 70")
	}
	*p = Percentage(n)
	return nil
}

var errTokens = errors.New("not a number of tokens: write for example 64000 or 64k")

func (n *TokenCount) UnmarshalText(text []byte) error {
	digits, factor := strings.ToLower(string(text)), 1.0
	for unit, size := range map[string]float64{"k": 1e3, "m": 1e6} {
		if rest, ok := strings.CutSuffix(digits, unit); ok {
			digits, factor = rest, size
		}
	}
	count, err := strconv.ParseFloat(digits, 64)
	count *= factor
	if err != nil || count < 0 || count > math.MaxInt32 || count != math.Trunc(count) {
		return errTokens
	}
	*n = TokenCount(count)
	return nil
}
