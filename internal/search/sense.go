package search

import "github.com/magicctx/magicctx-host/internal/search/words"

// addSense raises the total of each candidate: the closer its meaning is to the meaning of the query, the more it
// gains. Two corrections make the meanings comparable. A short text says little about its meaning, so the vectors of
// the messages near it are added to its vector. And all candidates have a part of their meaning in common, which does
// not distinguish them. So the mean of their vectors is subtracted. If any candidate already has most of the query's
// words, the words are the better sign, and addSense raises all totals only a little.
func (s *search) addSense(all []scored) {
	meaning := s.meaning.Unit()
	if meaning == (words.Vector{}) {
		return
	}
	subjects := subjects(all)
	var mean words.Vector
	for i := range subjects {
		mean.AddShare(&subjects[i], 1/float32(len(all)+fewest))
	}
	meaning.AddShare(&mean, -1)
	senses, nearest := make([]float64, len(all)), 0.0
	for i := range subjects {
		subjects[i].AddShare(&mean, -1)
		senses[i] = max(0, subjects[i].Cosine(&meaning))
		nearest = max(nearest, senses[i])
	}
	if nearest == 0 {
		return
	}
	best, covered := 0.0, 0.0
	for i := range all {
		best, covered = max(best, all[i].total), max(covered, all[i].covered)
	}
	for i := range all {
		all[i].total += sense * (1 - covered) * best * kinds[all[i].Kind] * senses[i] / nearest
	}
}

// The function `subjects` returns a direction for each candidate. The direction combines the meaning of the candidate's
// text with the meaning of the messages near it.
func subjects(all []scored) []words.Vector {
	place := make(map[*scored]int, len(all))
	order := make([]*scored, len(all))
	sums := make([]words.Vector, len(all))
	for i := range all {
		c := &all[i]
		place[c], order[i] = i, c
		c.about = c.about.Unit()
		sums[i] = c.about
	}
	beside(order, far, func(a, b *scored, distance float64) {
		sums[place[a]].AddShare(&b.about, float32(1/distance))
		sums[place[b]].AddShare(&a.about, float32(1/distance))
	})
	for i := range sums {
		sums[i] = sums[i].Unit()
	}
	return sums
}
