package route

import "regexp"

// Above the size of a Cliff, a provider charges a multiple of its prices for the whole request, even for cached
// tokens. For example, with {272_000, 2} a request of 272,001 tokens costs twice as much as one of 272,000. The
// zero value means prices without a cliff.
type Cliff struct {
	Above  int
	Factor float64
}

// At returns the factor for a prompt of this size in tokens. Up to the cliff, the factor is 1.
func (c Cliff) At(prompt int) float64 {
	if c.Above > 0 && prompt > c.Above {
		return c.Factor
	}
	return 1
}

// docs/cache-routes.md has the sources of the cliffs. They are listed by the model's id in lower case.
var cliffs = []struct {
	model *regexp.Regexp
	Cliff
}{
	{regexp.MustCompile(`(?:^|[^a-z])gpt-6(?:[^0-9]|$)`), Cliff{272_000, 2}},
	{regexp.MustCompile(`claude-haiku-5[-.]5(?:[^0-9]|$)`), Cliff{100_000, 5}},
}

func cliffOf(id string) Cliff {
	for _, c := range cliffs {
		if c.model.MatchString(id) {
			return c.Cliff
		}
	}
	return Cliff{}
}
