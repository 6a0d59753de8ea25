package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/magicctx/magicctx-host/internal/terms"
	"github.com/magicctx/magicctx-host/store/index"
)

type scope struct {
	project          string
	harness, session string
	// In the model's own session, the search finds only content that the model no longer sees: the messages with an
	// ordinal up to `through`, and the parts in `dropped`. It also searches the project's other sessions.
	through int
	dropped []index.Part
}

// A fact is what an earlier message says about a cue.
type fact struct {
	harness, session string
	ordinal          int
	at               int64
	class            class
	who              index.Role
	// `text` is the sentence that states the fact. If it refers to the sentence before it, for example with "this",
	// `lead` is that sentence. If the fact is a remedy, both may be empty.
	lead, text string
	remedy     *remedy
	// `asked` lists the terms of the cue that led to the fact.
	asked []string
	// `about` is the name in the cue that the fact is about, or "".
	about string
	// score is from 0 to 1.
	score float64
}

const (
	maxNames     = 6
	maxFailures  = 4
	maxLines     = 6
	maxHits      = 60
	maxFollowing = 200
	// To find a remedy, the search reads this number of rows after the error. They include rows of other sessions.
	followingRows = 2_000
)

// A finder looks up cues in a snapshot of the index.
type finder struct {
	v     *index.View
	in    index.Scope
	size  int
	known map[string]int // the frequency of each term
	facts []fact
}

// find returns the facts whose score is at least `least`, with the best fact first.
func find(ctx context.Context, x *index.Index, s scope, cues []cue, least float64) (facts []fact, err error) {
	err = x.View(ctx, func(v *index.View) error {
		f := finder{v: v, known: map[string]int{}}
		project, err := v.Project(s.project)
		if err != nil || project == 0 {
			return err
		}
		f.in = index.Scope{Project: project, Through: s.through, Parts: s.dropped}
		if f.in.Session, err = v.Row(s.harness, s.session); err != nil {
			return err
		}
		if f.size, err = v.Size(); err != nil {
			return err
		}
		for i := range cues {
			if err := f.failures(cues[i].failed); err != nil {
				return err
			}
			if err := f.names(&cues[i]); err != nil {
				return err
			}
			if err := f.lines(cues[i].lines); err != nil {
				return err
			}
		}
		facts = f.facts
		return nil
	})
	facts = slices.DeleteFunc(facts, func(f fact) bool { return f.score < least })
	slices.SortStableFunc(facts, func(a, b fact) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.at, a.at), cmp.Compare(b.ordinal, a.ordinal))
	})
	return facts, err
}

func (f *finder) frequency(term string) (int, error) {
	n, ok := f.known[term]
	if ok {
		return n, nil
	}
	n, err := f.v.Frequency(term)
	f.known[term] = n
	return n, err
}

// rarest sorts the given terms by how often they occur in the index, the rarest first. It leaves out terms that do not
// occur.
func (f *finder) rarest(all []string) ([]string, error) {
	var have []string
	for _, t := range all {
		n, err := f.frequency(t)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			have = append(have, t)
		}
	}
	slices.SortStableFunc(have, func(a, b string) int { return cmp.Compare(f.known[a], f.known[b]) })
	return have, nil
}

// chunks returns the newest chunks of a kind that contain all terms and that isWanted accepts. It looks at
// maxHits chunks at most.
func (f *finder) chunks(all []string, kind index.Kind, isWanted func(*index.Hit) bool) (hits []index.Hit, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	in := f.in
	in.Kinds = []index.Kind{kind}
	err = f.v.Find(`"`+strings.Join(all, `" AND "`)+`"`, in, maxHits, func(h index.Hit) {
		if isWanted(&h) {
			hits = append(hits, h)
		}
	})
	return hits, err
}

func (f *finder) failures(failed failure) error {
	for _, s := range failed.errors {
		rare, err := f.rarest(terms.Of(strings.Join(s, " ")))
		if err != nil {
			return err
		}
		hits, err := f.chunks(rare[:min(len(rare), 3)], index.Error, failed.isSame)
		if err != nil {
			return err
		}
		slices.SortStableFunc(hits, func(a, b index.Hit) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Last, a.Last)) })
		for i := range hits[:min(len(hits), 5)] {
			var after []index.Hit
			if err := f.v.Following(&hits[i], followingRows, maxFollowing, func(h index.Hit) { after = append(after, h) }); err != nil {
				return err
			}
			if r := failed.remedyIn(&hits[i], after); r != nil && f.counts(r.hit) && (r.sentence != "" || !s.isName()) {
				f.facts = append(f.facts, f.of(r.hit, fact{class: finding, who: r.hit.Role, text: r.sentence, remedy: r, score: 0.9}))
				return nil // the newest remedy
			}
		}
	}
	return nil
}

// The method `counts` reports whether the hit h is worth showing, because the model does not see its message. A remedy
// needs its own check, because the model may still see the remedy although it no longer sees the error before it.
func (f *finder) counts(h *index.Hit) bool {
	row, err := f.v.Row(h.Session.Harness, h.Session.ID)
	return err != nil || row != f.in.Session || h.Last <= f.in.Through
}

func (f *finder) of(h *index.Hit, x fact) fact {
	x.harness, x.session, x.ordinal, x.at = h.Session.Harness, h.Session.ID, h.Last, h.At
	return x
}

// worth is the score of a statement about a name in the cue, by the statement's class.
var worth = map[class]float64{rule: 0.9, decision: 0.8, finding: 0.7}

// The method `names` looks up each name in a cue, and adds the rules and decisions about it. If the cue is a prompt, it
// also adds the findings.
func (f *finder) names(c *cue) error {
	isPrompt := len(c.lines) > 0
	for _, n := range c.names[:min(len(c.names), maxNames)] {
		for i, query := range queriesOf(n) {
			rare, err := f.rarest(query)
			if err != nil {
				return err
			}
			if len(rare) < len(query) || i > 0 && f.known[rare[0]] > maxOfDirectory {
				continue
			}
			hits, err := f.chunks(query, index.Text, func(*index.Hit) bool { return true })
			if err != nil {
				return err
			}
			f.about(n, hits, isPrompt)
		}
	}
	return nil
}

// If more chunks than this contain the name of a directory, the name is too common to look up.
const maxOfDirectory = 300

func queriesOf(n name) (all [][]string) {
	switch n.kind {
	case aPath:
		parts := strings.Split(n.text, "/")
		all = append(all, terms.Of(parts[len(parts)-1]))
		for i, dir := range parts[:len(parts)-1] { // a rule may be about the directory
			if i >= len(parts)-4 && len(dir) > 2 {
				all = append(all, terms.Of(dir))
			}
		}
	case aCommand: // a rule may be about all uses of the program's subcommand
		words := strings.Fields(n.text)
		all = append(all, terms.Of(strings.Join(words[:min(len(words), 2)], " ")))
	default:
		all = append(all, terms.Of(n.text))
	}
	return slices.DeleteFunc(all, func(q []string) bool { return len(q) == 0 })
}

func (f *finder) about(n name, hits []index.Hit, isPrompt bool) {
	key := keyOf(n)
	hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return !strings.Contains(h.Text, key) })
	all, leads := saidIn(hits), map[string]string{}
	all = slices.DeleteFunc(all, func(s spoken) bool {
		if strings.Contains(s.text, key) && names(s.text, n) {
			return false
		}
		if strings.Contains(s.before, key) && names(s.before, n) {
			leads[s.text] = s.lead()
		}
		return leads[s.text] == ""
	})
	for i := range all {
		s := &all[i]
		score := worth[s.is()]
		if score == 0 || s.class == finding && !isPrompt || isSuperseded(s, all) {
			continue
		}
		f.facts = append(f.facts, f.of(s.hit, fact{class: s.class, who: s.hit.Role, lead: leads[s.text], text: s.text, about: n.text, asked: content(n.text), score: score}))
	}
}

// keyOf returns a text that every statement about the name contains.
func keyOf(n name) string {
	switch n.kind {
	case aCommand:
		key, _, _ := strings.Cut(n.text, " ")
		return key
	case aPath:
		return "" // a statement may name its directory
	}
	return n.text
}

func names(sentence string, n name) bool {
	if n.kind == aCommand {
		words := strings.Fields(n.text)
		return holdsPhrase(sentence, strings.Join(words[:min(len(words), 2)], " "))
	}
	for _, said := range namesIn(sentence) {
		if means(said, n) {
			return true
		}
	}
	return n.kind == aSymbol && holdsPhrase(sentence, n.text)
}

func holdsPhrase(text, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(phrase)
		if (i == 0 || !isWordByte(text[i-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = i + 1
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isSuperseded reports whether a later sentence about the same name revokes or replaces s.
func isSuperseded(s *spoken, all []spoken) bool {
	for i := range all {
		later := &all[i]
		if !isLater(later.hit, s.hit) || later.text == s.text {
			continue
		}
		if later.is() == lifted || s.class == decision && later.class == decision || later.class == s.class && overlap(s.text, later.text) >= 0.5 {
			return true
		}
	}
	return false
}

func isLater(a, b *index.Hit) bool {
	if a.Session.ID == b.Session.ID && a.Session.Harness == b.Session.Harness {
		return a.Last > b.Last
	}
	return a.At > b.At
}

// overlap returns the share of the terms in a that also occur in b, from 0 to 1.
func overlap(a, b string) float64 {
	of := content(a)
	if len(of) == 0 {
		return 0
	}
	return share(of, content(b))
}

// share returns the share of the terms in `of` that also occur in `in`, from 0 to 1. If `of` is empty, it returns 1.
func share(of, in []string) float64 {
	if len(of) == 0 {
		return 1
	}
	n := 0
	for _, t := range of {
		if slices.Contains(in, t) {
			n++
		}
	}
	return float64(n) / float64(len(of))
}
