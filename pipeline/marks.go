package pipeline

import "github.com/magicctx/magicctx-host/schema"

// TypicalPrice stands for a price list that nobody knows: writing to the cache
// a quarter dearer than fresh tokens and reading a tenth of them, as Anthropic
// publishes. Only the ratios matter here.
var TypicalPrice = schema.Price{Fresh: 1, Write: 1.25, Read: 0.1}

// marks is what the low-water mark is chosen from, in tokens.
type marks struct {
	// high is the mark at which an episode opens, floor what is left when all
	// that may go is gone, prefix what survives a bust in the provider's cache.
	high, floor, prefix int
	// growth is the tokens that a step adds.
	growth int
	price  schema.Price
}

// lowMarkSlack is how much dearer than the cheapest a low mark may be: near the
// optimum the bill is flat, and each token less to drop is one more for the
// model to see.
const lowMarkSlack = 1.05

// low returns the low-water mark: the highest one whose bill is within the slack
// of the cheapest (design §9). It is at most half of the high one, even if the
// rules that take tools only cannot get there: closer marks would be one episode
// after the other.
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

// bill is what a step costs on average over a cycle from low to high and back:
// reading what lies in between, and writing again what stays when it is folded
// (design §9; what does not depend on low is left out). It grows with low.
func (m marks) bill(low int) float64 {
	steps := float64(m.high-low) / float64(max(1, m.growth))
	reading := m.price.Read * float64(m.high+low) / 2
	writing := max(0, m.price.Write-m.price.Read) * float64(max(0, low-m.prefix)) / steps
	return reading + writing
}
