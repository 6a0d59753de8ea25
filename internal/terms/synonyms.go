package terms

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed synonyms.txt
var synonymsText string

// Synonyms returns the terms of words that may stand for the word of a term.
func Synonyms(term string) []string { return synonyms()[term] }

var synonyms = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(synonymsText) {
		if line[0] == '#' {
			continue
		}
		group := Of(line)
		for _, term := range group {
			for _, other := range group {
				if other != term && !slices.Contains(all[term], other) {
					all[term] = append(all[term], other)
				}
			}
		}
	}
	return all
})

// IsFunctionWord reports whether a term is a word of grammar, such as "the" or "did". A question consists of them for a
// good part, and they say nothing of what it asks for.
func IsFunctionWord(term string) bool { return functionWords()[term] }

var functionWords = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, term := range Of(`a an the this that these those it its they them their he she his her him i me my mine we us our ours you your yours
		one ones somebody someone anybody anyone everybody everyone something anything who whom whose which what when where why how
		is are was were be been being am do does did done doing have has had having can could may might shall should will would
		to of in on at by for from with without into onto about as than then so if or and but not no nor too also just only very much many
		there here again ever yet still already whether while because though although either neither both
		s t d ll re ve m don doesn didn isn aren wasn weren won couldn shouldn wouldn let`) {
		all[term] = true
	}
	return all
})
