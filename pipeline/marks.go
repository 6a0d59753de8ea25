package pipeline

import "github.com/magicctx/magicctx-host/schema"

// TypicalPrice is used if a model's price is unknown. Only the ratios matter. They are those of Anthropic's published
// prices for a cache life of five minutes: writing a token costs 1.25 times as much as a fresh token, and reading costs
// a tenth.
var TypicalPrice = schema.Price{Fresh: 1, Write: 1.25, Read: 0.1}

// marks holds the figures from which the low mark is chosen, in tokens.
type marks struct {
	// high is the high mark. floor is the size that remains if every tool arc that may be dropped is dropped. prefix is
	// the part that stays in the provider's cache after a bust, such as the system prompt.
	high, floor, prefix int
	// growth is the number of tokens that a step adds.
	growth int
	price  schema.Price
}

// The bill of the chosen low mark may be 5 % higher than the lowest bill. Near the cheapest mark the bill hardly
// changes, and a higher mark leaves more content for the model to see.
const lowMarkSlack = 1.05

// low returns the low mark: the highest mark whose bill is within the slack of the cheapest. It is at most half of the
// high mark, even if the rules for tool output cannot free that much. If the marks were closer together, episodes would
// follow each other too soon.
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

// bill is the average price of a step over one cycle, in which the prompt grows from low to high and a bust takes it
// back to low. The average step reads a prompt half way between the marks. Each cycle writes the remaining content to
// the cache once, except the prefix; that cost is spread over the cycle's steps. Fixed costs of a cycle are left out.
// If the low mark grows, the bill grows too, and the binary search in low relies on that.
func (m marks) bill(low int) float64 {
	steps := float64(m.high-low) / float64(max(1, m.growth))
	reading := m.price.Read * float64(m.high+low) / 2
	writing := max(0, m.price.Write-m.price.Read) * float64(max(0, low-m.prefix)) / steps
	return reading + writing
}

// EstimateLowMark estimates the low mark that a pass would choose. It needs no messages
// of the session, so it assumes that the rules can take everything after the prefix.
func EstimateLowMark(high, prefix, growth int, price schema.Price) int {
	return marks{high: high, floor: prefix, prefix: prefix, growth: growth, price: price}.low()
}
