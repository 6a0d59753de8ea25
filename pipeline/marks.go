package pipeline

import "github.com/magicctx/magicctx-host/schema"

// TypicalPrice is used if a model's price is unknown. Only the ratios matter: they are those of Anthropic's published
// prices for a cache life of five minutes.
var TypicalPrice = schema.Price{Fresh: 1, Write: 1.25, Read: 0.1}

type marks struct {
	// floor is the size that remains if every arc that may be dropped is dropped. prefix is the part that stays in
	// the provider's cache after a bust, for example the system prompt. A step adds growth tokens.
	high, floor, prefix int
	growth              int
	price               schema.Price
}

// The bill of the chosen low mark may be 5 % higher than the lowest bill. Near the cheapest mark the bill hardly
// changes, and a higher mark leaves more content for the model to see.
const lowMarkSlack = 1.05

// low returns the highest mark whose bill is within the slack of the cheapest. It is at most half of the high mark,
// because episodes would otherwise follow each other too soon.
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

// bill is the average price of a step over one cycle. In a cycle, the prompt grows from low to high, and a bust takes
// it back to low. The average step reads a prompt half way between the marks. Each cycle writes the remaining content
// except the prefix to the cache once. A higher low mark always has a higher bill, and the binary search in low
// relies on that.
func (m marks) bill(low int) float64 {
	steps := float64(m.high-low) / float64(max(1, m.growth))
	reading := m.price.Read * float64(m.high+low) / 2
	writing := max(0, m.price.Write-m.price.Read) * float64(max(0, low-m.prefix)) / steps
	return reading + writing
}

// EstimateLowMark estimates the low mark in tokens, as if the rules could take everything after the prefix.
func EstimateLowMark(high, prefix, growth int, price schema.Price) int {
	return marks{high: high, floor: prefix, prefix: prefix, growth: growth, price: price}.low()
}
