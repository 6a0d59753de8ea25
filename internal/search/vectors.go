package search

import (
	"context"

	"github.com/magicctx/magicctx-host/store/index"
)

const (
	// nearest is the maximum number of texts that are candidates because of their vectors.
	nearest = 100
	// damping makes the score fall slowly from one rank to the next. Otherwise, the first hit of one list would
	// outweigh everything in the other list.
	damping = 60
)

// vectorOf asks the embedding service for the vector of the query. It does so before the search begins, so
// that no open view of the index waits for the service.
func vectorOf(ctx context.Context, x *index.Index, q Query) (vector []float32, err error) {
	if q.Embed == nil {
		return nil, nil
	}
	space := ""
	if err = x.View(ctx, func(v *index.View) (err error) {
		space, err = v.Space()
		return err
	}); err == nil && space != "" {
		vector = q.Embed(ctx, space, q.Text)
	}
	return vector, err
}

// fuse adds the texts whose vectors are nearest to the query's vector. Each hit then gets a new score, half of which
// comes from its rank among the hits of the words, and half from its rank among the hits of the vectors. If the query
// has no vector, the hits stay as they are.
func (s *search) fuse(hits []*scored) ([]*scored, error) {
	if s.vector == nil || s.q.Project != "" && s.scope.Project == 0 {
		return hits, nil
	}
	share := func(rank int) float64 { return (damping + 1) / float64(damping+1+rank) / 2 }
	known := map[int64]*scored{}
	for i, h := range hits {
		known[h.Row()], h.total = h, share(i)
	}
	rank := 0
	err := s.v.Nearest(s.vector, s.scope, nearest, func(h index.Hit) {
		if s.q.Hides != nil && s.q.Hides(&h) {
			return
		}
		c := known[h.Row()]
		if c == nil {
			c = &scored{Hit: h}
			hits = append(hits, c)
		}
		c.total += share(rank)
		rank++
	})
	sortHits(hits)
	return hits, err
}
