package historian

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magicctx/magicctx-host/internal/chronicle"
)

const (
	// maxTrait bounds an observation of one sentence, in runes.
	maxTrait = 200
	// leastShown is the minimum length in runes of the user's words that support an observation: "ok" is not enough.
	leastShown = 8
)

func (j *Job) takesObservations() bool { return j.Observes && !j.WithoutFacts }

// confirmObservations returns the observations that the user's own words support. An observation ends with these words,
// for example "prefers short answers. U: keep it short". An observation that names a path, a number or a symbol is left
// out, because it is about a project and not about the user.
func confirmObservations(all []chronicle.Observation, j *Job) (confirmed []chronicle.Observation) {
	for _, o := range all {
		trait, words, _ := strings.Cut(o.Content, "U: ")
		trait = strings.TrimSpace(trait)
		q := quotes{typed: typedIn(within(j.Raw(), o.Source))}
		named := newCollector()
		named.words(trait, 0)
		switch {
		case !j.Chunk.Range.Holds(o.Source.Start), !j.Chunk.Range.Holds(o.Source.End):
		case trait == "", utf8.RuneCountInString(trait) > maxTrait, utf8.RuneCountInString(words) < leastShown:
		case len(named.found) > 0, quotedWords().MatchString(trait):
		case q.stands(words):
			confirmed = append(confirmed, chronicle.Observation{Content: trait, Words: words, Source: o.Source})
		}
	}
	return confirmed
}

// last is the last message with a compartment.
func observationsUntil(last int, all []chronicle.Observation) []chronicle.Observation {
	return slices.DeleteFunc(slices.Clone(all), func(o chronicle.Observation) bool { return o.Source.End > last })
}
