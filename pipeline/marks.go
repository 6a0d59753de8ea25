package pipeline

import "github.com/magicctx/magicctx-host/schema"

// TypicalPrice is used if a model's price is unknown. It has the ratios of Anthropic's published prices for a cache
// life of five minutes. Only the ratios matter.
var TypicalPrice = schema.Price{Fresh: 1, Write: 1.25, Read: 0.1}

type marks struct {
	// `floor` is the size of the prompt if every arc that can be dropped was dropped. `prefix` is the size of the part
	// that stays in the provider's cache after a bust, for example the system prompt. `growth` is the number of tokens
	// that each step adds to the prompt.
	high, floor, prefix int
	growth              int
	price               schema.Price
}

// The chosen low mark may cost up to 5 % more than the cheapest one. In return, it is higher, so a bust leaves the
// model more content.
const lowMarkSlack = 1.05

// The method `low` chooses the low mark: the highest one whose bill is at most lowMarkSlack times the lowest possible
// bill. It is at most half of the high mark, because busts would otherwise follow each other too soon.
func (m marks) low() int {
	if m.floor >= m.high/2 {
		return m.high / 2
	}
	allowed := m.bill(m.floor) * lowMarkSlack
	below, above := m.floor, m.high/2 // bill(below) is allowed, bill(above) is not
	for above-below > 1 {
		middle := below + (above-below)/2
		if m.bill(middle) <= allowed {
			below = middle
		} else {
			above = middle
		}
	}
	return below
}

// The method `bill` returns the average price of a step with a given low mark. The prompt grows from low to high over
// some steps, and then a bust shrinks it to low again. So the average step reads a prompt of (low + high) / 2, and each
// bust writes all remaining content except the prefix to the cache. The binary search in the method `low` works only if
// a higher low mark always has a higher bill.
func (m marks) bill(low int) float64 {
	steps := float64(m.high-low) / float64(max(1, m.growth))
	reading := m.price.Read * float64(m.high+low) / 2
	writing := max(0, m.price.Write-m.price.Read) * float64(max(0, low-m.prefix)) / steps
	return reading + writing
}

// EstimateLowMark estimates the low mark in tokens, as if the rules could remove everything after the prefix.
func EstimateLowMark(high, prefix, growth int, price schema.Price) int {
	return marks{high: high, floor: prefix, prefix: prefix, growth: growth, price: price}.low()
}
