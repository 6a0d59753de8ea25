package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/search/words"
	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

type Query struct {
	Text  string
	Limit int
	// If Project is not empty, only the project with this identity is searched.
	Project string
	// If a session asks, Harness and Session name it. The search leaves out the messages of this session after the
	// ordinal Through, because the model still sees them. If the model sees the whole session, Through is 0.
	Harness, Session string
	Through          int
	// Dropped lists parts of messages after Through that were dropped from the prompt. The model no longer sees them,
	// so the search includes them.
	Dropped []index.Part
	// Hides reports whether the model already sees a chunk. The search leaves such a chunk out. Hides may be nil.
	Hides func(*index.Hit) bool
	// Only is a filter: chunks of another kind, role, harness, session or age are left out.
	Only index.Filter
	// If IsLiteral is true, the search uses only the query's words and their synonyms. Otherwise, it also uses words
	// with a similar meaning.
	IsLiteral bool
	Now       int64
	// Embed asks the embedding service for the vector of a text. It returns nil if the service fails, or if its vectors
	// cannot be compared with those in the index (`space`). If Embed is nil, the search compares only words.
	Embed func(ctx context.Context, space, text string) []float32
}

// A Hit is a chunk that was found. Score is from 0 to 1, and no hit has a greater score than the hit before it.
type Hit struct {
	index.Hit
	Score float64
}

// ErrNoWords means that the query has no word to look for.
var ErrNoWords = errors.New("the query has no words")

// These limits keep a search fast. Ranking a candidate takes some microseconds. Reading a row of a term takes only a
// fraction of a microsecond, but a frequent term has very many rows.
const (
	maxTerms = 16 // of a query; longer queries keep their rarest terms
	// A search tries several expressions, one after the other. Each finds at most maxCandidates chunks. When `enough`
	// chunks are found, the search tries no more expressions.
	maxCandidates = 200
	enough        = 400
	// A term is frequent if more than this share of all chunks contain it. Frequent terms are used to find candidates
	// only if the query has no other terms.
	frequent = 0.2
	// The search also uses words whose meaning is similar to that of a term. If such a word occurs in more than
	// maxNeighbour chunks, the search does not look for chunks with it. But if a chunk was found by other words, this
	// word still adds to its score.
	maxNeighbour = 500
)

func Search(ctx context.Context, x *index.Index, q Query) (hits []Hit, err error) {
	all := terms.Of(q.Text)
	vector, err := vectorOf(ctx, x, q)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 && vector == nil {
		return nil, ErrNoWords
	}
	err = x.View(ctx, func(v *index.View) (err error) {
		s := search{v: v, q: q, vector: vector, found: map[int64]index.Hit{}}
		if err := s.prepare(all); err != nil {
			return err
		}
		if err := s.collect(); err != nil {
			return err
		}
		hits, err = s.rank()
		return err
	})
	return hits, err
}

type term struct {
	text      string
	chunks    int     // how many chunks have it
	weight    float64 // how much it says, see weight
	others    []variant
	isGrammar bool
}

// A variant is a word that may stand in a text instead of a term of the query, for example a synonym. worth is its
// weight in the score.
type variant struct {
	text   string
	chunks int
	worth  float64
	// isSought means that the search looks for chunks with the variant. Otherwise, the variant only adds to the scores
	// of chunks that other words find.
	isSought bool
}

type search struct {
	v      *index.View
	q      Query
	vector []float32
	size   int
	terms  []term // in the order of the query
	scope  index.Scope
	// wantsRule means that the query asks for a rule or a decision.
	wantsRule bool
	found     map[int64]index.Hit
	meaning   words.Vector
}

// A query with one of these terms asks for a rule or a decision.
var asksForRule = func() map[string]bool {
	all := map[string]bool{}
	for _, term := range terms.Of("rule policy convention guideline must may allowed allow permitted forbidden should never always decide decision decided choose chose chosen reject agree agreed prefer instead") {
		all[term] = true
	}
	return all
}()

// prepare fills s.terms with the query's terms and their variants. If the index does not know the project, s.terms
// stays empty.
func (s *search) prepare(all []string) (err error) {
	if s.size, err = s.v.Size(); err != nil {
		return err
	}
	s.scope.Filter = s.q.Only
	if s.q.Project != "" {
		if s.scope.Project, err = s.v.Project(s.q.Project); err != nil || s.scope.Project == 0 {
			return err
		}
	}
	if s.q.Session != "" {
		s.scope.Through, s.scope.Parts = s.q.Through, s.q.Dropped
		if s.scope.Session, err = s.v.Row(s.q.Harness, s.q.Session); err != nil {
			return err
		}
	}
	for _, w := range all {
		s.wantsRule = s.wantsRule || asksForRule[w]
		n, err := s.v.Frequency(w)
		if err != nil {
			return err
		}
		t := term{text: w, chunks: n, weight: weight(n, s.size), isGrammar: terms.IsFunctionWord(w)}
		if terms.IsLight(w) {
			t.weight *= light
		}
		s.terms = append(s.terms, t)
	}
	s.forgetGrammar()
	if len(s.terms) > maxTerms {
		rarest := s.rarest()[:maxTerms]
		s.terms = slices.DeleteFunc(s.terms, func(t term) bool {
			return !slices.ContainsFunc(rarest, func(r term) bool { return r.text == t.text })
		})
	}
	return s.addSynonyms()
}

func (s *search) forgetGrammar() {
	if telling := slices.DeleteFunc(slices.Clone(s.terms), func(t term) bool { return t.isGrammar }); len(telling) > 0 {
		s.terms = telling
	}
}

// addSynonyms adds synonyms of each term. Unless the query is literal, it also adds words with a similar meaning. No
// variant has more weight than its term.
func (s *search) addSynonyms() error {
	for i := range s.terms {
		t := &s.terms[i]
		s.meaning.Add([]byte(t.text))
		for _, text := range terms.Synonyms(t.text) {
			if err := s.addVariant(t, text, synonym, s.size); err != nil {
				return err
			}
		}
		if s.q.IsLiteral {
			continue
		}
		for text, share := range words.Neighbours(t.text) {
			if err := s.addVariant(t, text, share, maxNeighbour); err != nil {
				return err
			}
		}
	}
	return nil
}

// addVariant adds a variant to the term t. If more than `most` chunks contain the variant, the search does not look for
// chunks with it (variant.isSought).
func (s *search) addVariant(t *term, text string, share float64, most int) error {
	n, err := s.v.Frequency(text)
	if err != nil || n == 0 || slices.ContainsFunc(t.others, func(v variant) bool { return v.text == text }) {
		return err
	}
	t.others = append(t.others, variant{text, n, share * min(t.weight, weight(n, s.size)), n <= most})
	return nil
}

// `all` returns how many chunks contain the term or a variant that is looked for. It is only an estimate: a chunk with
// two of these words counts twice.
func (t *term) all() int {
	n := t.chunks
	for _, o := range t.others {
		if o.isSought {
			n += o.chunks
		}
	}
	return n
}

func (t *term) expression() string {
	var b strings.Builder
	b.WriteString(`("` + t.text + `"`)
	for _, o := range t.others {
		if o.isSought {
			b.WriteString(` OR "` + o.text + `"`)
		}
	}
	b.WriteString(")")
	return b.String()
}

// The method `rarest` returns the terms that occur in the index, the rarest first.
func (s *search) rarest() []term {
	all := slices.DeleteFunc(slices.Clone(s.terms), func(t term) bool { return t.all() == 0 })
	slices.SortStableFunc(all, func(a, b term) int { return cmp.Compare(a.all(), b.all()) })
	return all
}

// collect finds chunks with all terms, then chunks with two of the rarest terms, then chunks with any of the rarest
// terms. It stops as soon as it has found enough chunks.
func (s *search) collect() error {
	rare := s.rarest()
	if telling := slices.DeleteFunc(slices.Clone(rare), func(t term) bool { return float64(t.all()) > frequent*float64(s.size) }); len(telling) > 0 {
		rare = telling
	}
	if len(rare) > 1 && len(rare) == len(s.terms) {
		if err := s.find(rare[0], " AND ", rare[1:]); err != nil {
			return err
		}
	}
	rare = rare[:min(len(rare), 6)]
	for i := range rare {
		if i+1 < len(rare) && len(s.found) < max(enough, s.q.Limit) {
			if err := s.find(rare[i], " OR ", rare[i+1:]); err != nil {
				return err
			}
		}
	}
	for _, t := range rare {
		if len(s.found) < max(enough, s.q.Limit) {
			if err := s.find(t, "", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// `filtered` decides how find searches only one project. If at most this many chunks contain a term, the database reads
// all of them and checks the project of each. If more chunks contain the term, find also requires a special term that
// marks the project's chunks. Looking up that term costs about as much as reading `filtered` chunks.
const filtered = 2_000

// find adds the chunks that contain t. With the operator AND, these chunks must also contain all terms in `others`.
// With OR, they must contain at least one of them.
func (s *search) find(t term, operator string, others []term) error {
	expression := t.expression()
	for i, other := range others {
		if i == 0 {
			expression += " AND ("
		} else {
			expression += operator
		}
		expression += other.expression()
	}
	if len(others) > 0 {
		expression += ")"
	}
	if s.scope.Project != 0 && t.all() > filtered {
		expression += fmt.Sprintf(` AND "#%d"`, s.scope.Project)
	}
	return s.v.Find(expression, s.scope, max(maxCandidates, s.q.Limit), func(h index.Hit) { s.found[h.Row()] = h })
}
