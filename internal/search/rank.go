package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/search/words"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

// These are the constants of BM25. saturation limits the gain from a repeated term: the smaller it is, the less each
// repetition adds. shortness says how strongly the score falls with the length of a text, from 0 (not at all) to 1.
// usualTerms is the usual length of a chunk, in terms.
const (
	saturation = 1.2
	shortness  = 0.5
	usualTerms = 50
)

// These weights give the best ranks for the tuning queries of the judged set. Small changes of the weights hardly
// change the ranks.
const (
	// `together` is the largest gain that a chunk can get because the query's terms are close together in it, as a
	// share of the score. The chunk gets the whole gain if all terms of the query are next to each other.
	together = 0.5
	// coverage is the share of the score that depends on how many of the query's terms the chunk has. A chunk with half
	// of the terms, by weight, loses half of this share.
	coverage = 0.8
	// If a term of the query is not in the chunk but in the message before it, the chunk gains this share of the term's
	// weight.
	inContext = 0.35
	// If a term of the query is not in the chunk, but in a message at most `far` messages away, the chunk gains this
	// share of the term's score in that message, divided by the distance.
	nearby = 0.3
	far    = 3
	// Some chunks are found only because they are near another chunk. Such a chunk becomes a hit only if it reaches
	// this share of the best score.
	besideAtLeast = 0.2
	expanded      = 12
	// If a text contains only a synonym of a term, the term counts with the share `synonym` of its weight. A word with
	// little meaning, for example "make", counts with only the share `light`.
	synonym = 0.7
	light   = 0.4
	// If the query asks for a rule or a decision, each rule and each decision gains this share of its score.
	wanted = 0.5
	// A chunk that was written just now gains this share of its score. The gain halves each month.
	recent = 0.15
	month  = 30 * 24 * 60 * 60 * 1000 // ms
	// sense is the largest gain that a chunk can get because its meaning is close to the query's, as a share of the
	// best score. Meanings are compared by the directions of vectors, after the mean vector of the candidates was
	// subtracted. The mean of only a few candidates is unreliable, so it is made smaller: the sum of n vectors is
	// divided by n+fewest instead of n.
	sense  = 0.5
	fewest = 10
	// The second hit in a message keeps only this share of its score, and the third hit only the square of this share.
	again = 0.5
	least = 0.1
	// A question and its answer belong together. So the one with the lower score gains this share of the difference
	// between their scores. In the same way, the score of a commit rises towards the best score in the hour before the
	// commit.
	answer       = 0.7
	farthest     = 2              // messages
	longTurn     = 50             // the largest distance, in messages, from a prompt to its answer
	commitsAfter = 60 * 60 * 1000 // ms
)

// kinds maps each kind of chunk to the factor by which its score is multiplied. Rules of the user matter most. Texts
// count more than commands, because most searches look for texts.
var kinds = map[index.Kind]float64{
	index.Rule: 1.2, index.Decision: 1, index.Text: 1, index.Commit: 0.95, index.Error: 0.8, index.Command: 0.6, index.Write: 0.6, index.Read: 0.6,
}

// weight returns the weight of a term that occurs in n of `size` chunks. As in BM25, a rare term weighs more.
func weight(n, size int) float64 {
	return math.Log(1 + (float64(max(0, size-n))+0.5)/(float64(n)+0.5))
}

func (s *search) rank() ([]Hit, error) {
	r := ranking{search: s, refs: map[string][]ref{}}
	most := 0.0 // the score of a chunk that has each term once
	for i, t := range s.terms {
		r.refs[t.text] = append(r.refs[t.text], ref{i, 1})
		for _, o := range t.others {
			r.refs[o.text] = append(r.refs[o.text], ref{i, o.worth / t.weight})
		}
		most += t.weight
	}
	all := make([]scored, 0, len(s.found))
	for _, row := range slices.Sorted(maps.Keys(s.found)) { // in a fixed order, so that a search has one result
		all = append(all, r.match(s.found[row]))
	}
	neighbours(all)
	all, err := r.addNeighbours(all)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].total = r.score(&all[i])
	}
	s.addSense(all)
	hits := make([]*scored, 0, len(all))
	for i := range all {
		h := &all[i]
		h.total /= most * (saturation + 1) * (1 + together) * (1 + recent) * (1 + sense)
		if h.total > 0 && (s.q.Hides == nil || !s.q.Hides(&h.Hit)) {
			hits = append(hits, h)
		}
	}
	move(hits)
	sortHits(hits)
	hits = slices.DeleteFunc(hits, func(h *scored) bool {
		return h.total < least*hits[0].total || h.isBeside && h.total < besideAtLeast*hits[0].total
	})
	lowerRepeated(hits)
	if hits, err = s.fuse(hits); err != nil {
		return nil, err
	}
	return s.distinct(hits), nil
}

func sortHits(hits []*scored) {
	slices.SortStableFunc(hits, func(a, b *scored) int { return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(b.At, a.At)) })
}

// lowerRepeated lowers the scores of all hits in a message except the best one, so that the first hits come from many
// messages.
func lowerRepeated(hits []*scored) {
	share := map[string]float64{}
	for _, h := range hits {
		message := h.Session.Harness + " " + h.Session.ID + " " + h.Message
		h.total *= cmp.Or(share[message], 1)
		share[message] = again * cmp.Or(share[message], 1)
	}
	sortHits(hits)
}

// addNeighbours adds the messages near the best candidates, because the answer to a question may have none of the
// question's words.
func (r *ranking) addNeighbours(all []scored) ([]scored, error) {
	best := make([]*scored, len(all))
	for i := range all {
		all[i].total = r.score(&all[i])
		best[i] = &all[i]
	}
	slices.SortStableFunc(best, func(a, b *scored) int { return cmp.Compare(b.total, a.total) })
	isNew := false
	for _, c := range best[:min(len(best), expanded)] {
		if c.Kind == index.Read || c.Kind == index.Write || c.Last == 0 {
			continue
		}
		err := r.v.Around(&c.Hit, far, r.scope, func(h index.Hit) {
			if _, ok := r.found[h.Row()]; !ok {
				r.found[h.Row()] = h
				c := r.match(h)
				c.isBeside = true
				all = append(all, c)
				isNew = true
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if isNew {
		neighbours(all)
	}
	return all, nil
}

// distinct removes hits that repeat the text of a better hit. A fork repeats the messages of its original, and the same
// command is often run again and again. If one statement of a message contains another one, distinct keeps only the
// better hit.
func (s *search) distinct(hits []*scored) (all []Hit) {
	seen, said := map[string]bool{}, map[string][]string{}
	for _, h := range hits {
		if len(all) == s.q.Limit {
			break
		}
		message := h.Session.ID + " " + h.Message
		if isStatement(h.Kind) && slices.ContainsFunc(said[message], func(text string) bool {
			return strings.Contains(text, h.Text) || strings.Contains(h.Text, text)
		}) {
			continue
		}
		content := string(h.Kind) + " " + strings.Join(strings.Fields(strings.ToLower(h.Text)), " ")
		if !seen[content] {
			seen[content] = true
			if isStatement(h.Kind) {
				said[message] = append(said[message], h.Text)
			}
			all = append(all, Hit{h.Hit, h.total})
		}
	}
	return all
}

// isStatement reports whether chunks of this kind contain words of a message. Rules and decisions are parts of texts,
// so the chunks of these three kinds repeat each other.
func isStatement(k index.Kind) bool {
	return k == index.Text || k == index.Rule || k == index.Decision
}

type ranking struct {
	*search
	// A word of a text can match several terms of the query, for example as a synonym. refs lists these terms for each
	// word.
	refs map[string][]ref
}

// A ref is a term of the query that a word of a text matches. `term` is the term's index in the query. `share` says how
// well the word matches, from 0 to 1. The term itself has the share 1.
type ref struct {
	term  int
	share float64
}

// A scored is a candidate. own[i] is the score of the query's term i in the candidate. near[i] is the score of this
// term in the messages near the candidate.
type scored struct {
	index.Hit
	own, near []float64
	close     float64
	matched   int
	// `covered` is the share of the query's terms, by weight, that are in the candidate or near it.
	covered, total float64
	about          words.Vector
	// isBeside means that the candidate was not found by a term of the query, but near another candidate.
	isBeside bool
}

func (r *ranking) match(h index.Hit) scored {
	n := len(r.terms)
	values := make([]float64, 4*n)
	c := scored{Hit: h, own: values[:n], near: values[n : 2*n]}
	m := match{count: values[2*n : 3*n], share: values[3*n:], best: math.MaxInt, last: -1}
	terms.Each(h.Text, func(term []byte, at int) {
		m.length++
		c.about.Add(term)
		for _, ref := range r.refs[string(term)] {
			m.meet(ref, at)
		}
	})
	terms.Each(h.Context, func(term []byte, _ int) {
		for _, ref := range r.refs[string(term)] {
			c.near[ref.term] = max(c.near[ref.term], ref.share*inContext*r.terms[ref.term].weight)
		}
	})
	for i, t := range r.terms {
		if n := m.count[i]; n > 0 {
			c.matched++
			c.own[i] = t.weight * m.share[i] * n * (saturation + 1) / (n + saturation*(1-shortness+shortness*float64(m.length)/usualTerms))
		}
	}
	if c.matched > 1 { // the closer two different terms stand, the more likely they belong together
		c.close = float64(c.matched) / float64(n) / float64(max(1, m.best))
	}
	return c
}

func (r *ranking) score(c *scored) float64 {
	score, covered, all := 0.0, 0.0, 0.0
	for i, t := range r.terms {
		v := max(c.own[i], c.near[i])
		score += v
		if t.all() == 0 {
			continue
		}
		all += t.weight
		covered += min(t.weight, v)
	}
	c.covered = covered / all
	score *= 1 - coverage + coverage*c.covered
	score *= 1 + together*c.close
	if age := r.q.Now - c.At; c.At > 0 {
		score *= 1 + recent*math.Exp2(-float64(max(0, age))/month)
	}
	if r.wantsRule && (c.Kind == index.Rule || c.Kind == index.Decision) {
		score *= 1 + wanted
	}
	return score * kinds[c.Kind]
}

type match struct {
	length int
	count  []float64
	share  []float64
	// best is the smallest distance between two different terms of the query, in words.
	best, last, lastAt int
}

func (m *match) meet(r ref, at int) {
	m.count[r.term]++
	m.share[r.term] = max(m.share[r.term], r.share)
	if m.last >= 0 && m.last != r.term {
		m.best = min(m.best, max(1, at-m.lastAt))
	}
	m.last, m.lastAt = r.term, at
}
