package route

import "regexp"

// A Cliff is a size of a prompt above which a provider charges a multiple of its prices for the whole
// request, cached tokens included. For example, with {272_000, 2} a request of 272,001 tokens costs twice as
// much as one of 272,000. The zero value stands for prices without a cliff.
type Cliff struct {
	Above  int
	Factor float64
}

// At returns the factor by which a request costs more than the model's prices say. prompt is the size of
// its prompt in tokens. The factor is 1 up to the cliff.
func (c Cliff) At(prompt int) float64 {
	if c.Above > 0 && prompt > c.Above {
		return c.Factor
	}
	return 1
}

// cliffs are the known cliffs, by the id of the model in lower case. docs/cache-routes.md says where they
// come from.
var cliffs = []struct {
	model *regexp.Regexp
	Cliff
}{
	{regexp.MustCompile(`(?:^|[^a-z])gpt-6(?:[^0-9]|$)`), Cliff{272_000, 2}},
	{regexp.MustCompile(`claude-haiku-5[-.]5(?:[^0-9]|$)`), Cliff{100_000, 5}},
}

// cliffOf returns the cliff of a model's prices.
func cliffOf(id string) Cliff {
	for _, c := range cliffs {
		if c.model.MatchString(id) {
			return c.Cliff
		}
	}
	return Cliff{}
}
