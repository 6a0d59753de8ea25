package recall

import (
	"math"
	"slices"

	"github.com/magicctx/magicctx-host/store/index"
)

// The method `lines` searches for answers to each line of a prompt. It finds the statements that contain most of the
// line's terms, by weight.
func (f *finder) lines(all []string) error {
	for _, line := range all {
		asked := content(line)
		if len(asked) < 2 || len(asked) > 24 {
			continue
		}
		rare, err := f.rarest(asked)
		if err != nil {
			return err
		}
		if len(rare) < 2 {
			continue
		}
		weights, all := map[string]float64{}, 0.0
		for _, t := range asked {
			weights[t] = f.weight(f.known[t])
			all += weights[t]
		}
		var hits []index.Hit
		seen := map[int64]bool{}
		for _, pairs := range [...][][2]string{rarePairs(rare), f.neighbours(line)} {
			more, err := f.chunksWithPairs(pairs, seen)
			if err != nil {
				return err
			}
			hits = append(hits, more...)
		}
		f.answers(line, asked, weights, all, saidIn(hits))
	}
	return nil
}

func rarePairs(rare []string) (all [][2]string) {
	for i := range min(len(rare), 3) {
		for k := i + 1; k < min(len(rare), 3); k++ {
			all = append(all, [2]string{rare[i], rare[k]})
		}
	}
	return all
}

const maxPairs = 8

// neighbours returns pairs of adjacent terms, because the subject of a rule is often such a pair.
func (f *finder) neighbours(line string) (all [][2]string) {
	words := inOrder(line)
	for i := 1; i < len(words) && len(all) < maxPairs; i++ {
		if f.known[words[i-1]] > 0 && f.known[words[i]] > 0 && words[i-1] != words[i] {
			all = append(all, [2]string{words[i-1], words[i]})
		}
	}
	return all
}

// chunksWithPairs returns the newest texts that contain both terms of a pair. It omits the rows in `seen`, and adds the
// rows of its results to `seen`.
func (f *finder) chunksWithPairs(pairs [][2]string, seen map[int64]bool) (hits []index.Hit, err error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	expression := ""
	for i, p := range pairs {
		if i > 0 {
			expression += " OR "
		}
		expression += `("` + p[0] + `" AND "` + p[1] + `")`
	}
	in := f.in
	in.Kinds = []index.Kind{index.Text}
	err = f.v.Find(expression, in, maxHits, func(h index.Hit) {
		if !seen[h.Row()] {
			seen[h.Row()] = true
			hits = append(hits, h)
		}
	})
	return hits, err
}

// weight returns the weight of a term that occurs in n chunks. A rare term weighs more than a frequent one.
func (f *finder) weight(n int) float64 {
	return math.Log(1 + (float64(max(0, f.size-n))+0.5)/(float64(n)+0.5))
}

// A statement answers a line of a prompt only if it contains this share of the line's terms, by weight. It must also
// contain at least `addition` other terms.
const (
	coverage = 0.6
	addition = 2
)

func (f *finder) answers(line string, asked []string, weights map[string]float64, all float64, said []spoken) {
	named := namesIn(line)
	for i := range said {
		s := &said[i]
		has := content(s.text)
		lead := ""
		if s.before != "" && matches(has, weights) < len(asked) {
			if more := content(s.before + " " + s.text); matches(more, weights) > max(1, matches(has, weights)) {
				if lead = s.lead(); lead != "" {
					has = more
				}
			}
		}
		matched, covered := matches(has, weights), 0.0
		if matched < 2 || len(has)-matched < addition && s.is() != rule { // a rule need not add anything
			continue
		}
		for _, t := range has {
			covered += weights[t]
		}
		part := covered / all
		binds := bound(s.text, line, has)
		if part < coverage && binds < coverage || s.is() == chatter || s.class == lifted {
			continue
		}
		if s.class == rule {
			part = max(part, binds)
		}
		isEnough := matched >= 3 && s.class != detail || s.class == rule && binds >= coverage || namesOne(lead+" "+s.text, named)
		if part < coverage || !isEnough || isAnsweredAnew(s, said, asked) {
			continue
		}
		score := min(0.95, 0.6+(part-coverage)*0.8+bonus[s.class])
		f.facts = append(f.facts, f.of(s.hit, fact{class: s.class, who: s.hit.Role, lead: lead, text: s.text, asked: asked, score: score}))
	}
}

func matches(has []string, weights map[string]float64) (n int) {
	for _, t := range has {
		if _, ok := weights[t]; ok {
			n++
		}
	}
	return n
}

func namesOne(text string, named []name) bool {
	return slices.ContainsFunc(named, func(n name) bool { return names(text, n) })
}

// The function `bound` returns how closely a line of a prompt fits a rule, from 0 to 1. The words before the rule's
// verb are the rule's subject. If the line contains the subject, the result is 1. Otherwise, the result is the share of
// the rule's terms that the line contains.
func bound(text, line string, has []string) float64 {
	if at := verb.FindStringIndex(text); at != nil {
		if subject := inOrder(text[:at[0]]); len(subject) >= 2 && holdsRun(inOrder(line), subject[:2]) {
			return 1
		}
	}
	return share(has, content(line))
}

func holdsRun(text, run []string) bool {
	for i := range text {
		if i+len(run) <= len(text) && slices.Equal(text[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

var bonus = map[class]float64{rule: 0.05, decision: 0.03, finding: 0.02}

// isAnsweredAnew reports whether a later statement about the same terms revokes s or nearly repeats it.
func isAnsweredAnew(s *spoken, said []spoken, asked []string) bool {
	has := content(s.text)
	about := slices.DeleteFunc(slices.Clone(asked), func(t string) bool { return !slices.Contains(has, t) })
	for i := range said {
		later := &said[i]
		if !isLater(later.hit, s.hit) || later.text == s.text || share(about, content(later.text)) < 1 || later.is() == chatter {
			continue
		}
		if share := overlap(s.text, later.text); share >= 0.5 || later.class == lifted && share >= 0.3 {
			return true
		}
	}
	return false
}
