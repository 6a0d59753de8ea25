package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

// The constants of BM25: how soon further occurrences of a term stop to count, and how much a long text loses. A chunk
// has some usualTerms terms.
const (
	saturation = 1.2
	shortness  = 0.5
	usualTerms = 60
)

// What a search adds to BM25, as shares of its score.
const (
	// together is the most that a chunk gains if the terms stand side by side.
	together = 0.5
	// inContext is the share of a term that only the message before the chunk has.
	inContext = 0.35
	// recent is the most that a new chunk gains; the gain halves each month.
	recent = 0.15
	month  = 30 * 24 * 60 * 60 * 1000 // ms
)

// kinds are the factors of the kinds: a search is most often for what was said.
var kinds = map[index.Kind]float64{index.Text: 1, index.Error: 1, index.Command: 0.9, index.Write: 0.85, index.Read: 0.75}

// weight returns how much a term says that n of size chunks have, as BM25 does.
func weight(n, size int) float64 {
	return math.Log(1 + (float64(max(0, size-n))+0.5)/(float64(n)+0.5))
}

// rank returns the best of the candidates.
func (s *search) rank() []Hit {
	most := 0.0 // of a chunk with all terms side by side
	place := make(map[string]int, len(s.terms))
	for i, t := range s.terms {
		place[t.text] = i
		most += t.weight * (saturation + 1)
	}
	most *= (1 + together) * (1 + recent)
	hits := make([]Hit, 0, len(s.found))
	for _, row := range slices.Sorted(maps.Keys(s.found)) { // in a fixed order, so that a search has one result
		h := s.found[row]
		if score := s.score(&h, place) / most; score > 0 && (s.q.Hides == nil || !s.q.Hides(&h)) {
			hits = append(hits, Hit{h, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.At, a.At))
	})
	return s.distinct(hits)
}

// distinct returns the first hits, each text once: a fork repeats the messages of its original, and a command is run
// again and again.
func (s *search) distinct(hits []Hit) (all []Hit) {
	seen := map[string]bool{}
	for _, h := range hits {
		if len(all) == s.q.Limit {
			break
		}
		content := string(h.Kind) + " " + strings.Join(strings.Fields(strings.ToLower(h.Text)), " ")
		if !seen[content] {
			seen[content] = true
			all = append(all, h)
		}
	}
	return all
}

func (s *search) score(h *index.Hit, place map[string]int) float64 {
	m := match{count: make([]int, len(s.terms)), best: math.MaxInt, last: -1}
	terms.Each(h.Text, func(term []byte, at int) {
		m.length++
		if i, ok := place[string(term)]; ok {
			m.meet(i, at)
		}
	})
	inBefore := make([]bool, len(s.terms))
	terms.Each(h.Context, func(term []byte, _ int) {
		if i, ok := place[string(term)]; ok {
			inBefore[i] = true
		}
	})
	score, matched := 0.0, 0
	for i, t := range s.terms {
		n := float64(m.count[i])
		if n > 0 {
			matched++
			score += t.weight * n * (saturation + 1) / (n + saturation*(1-shortness+shortness*float64(m.length)/usualTerms))
		} else if inBefore[i] {
			score += t.weight * inContext
		}
	}
	if matched > 1 { // the closer two different terms stand, the more likely they belong together
		score *= 1 + together*float64(matched)/float64(len(s.terms))/float64(max(1, m.best))
	}
	if age := s.q.Now - h.At; h.At > 0 {
		score *= 1 + recent*math.Exp2(-float64(max(0, age))/month)
	}
	return score * kinds[h.Kind]
}

// A match says where the terms of a query stand in a text.
type match struct {
	length int
	count  []int
	// best is the smallest distance between two different terms, in words.
	best, last, lastAt int
}

func (m *match) meet(i, at int) {
	m.count[i]++
	if m.last >= 0 && m.last != i {
		m.best = min(m.best, max(1, at-m.lastAt))
	}
	m.last, m.lastAt = i, at
}
