package terms

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed synonyms.txt
var synonymsText string

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

// IsFunctionWord reports whether a term is a word of grammar, for example "the" or "did". Many words of a
// question say nothing about its subject.
func IsFunctionWord(term string) bool { return functionWords()[term] }

// IsLight reports whether a term says little, for example "make" or "other".
func IsLight(term string) bool { return lightWords()[term] }

var functionWords = setOf(`a an the this that these those it its they them their he she his her him i me my mine we us our ours you your yours
	one ones somebody someone anybody anyone everybody everyone something anything who whom whose which what when where why how
	is are was were be been being am do does did done doing have has had having can could may might shall should will would must
	to of in on at by for from with without into onto about as than then so if or and but not no nor too also just only very much many
	there here again ever yet still already whether while because though although either neither both some any such
	s t d ll re ve m don doesn didn isn aren wasn weren won couldn shouldn wouldn let`)

var lightWords = setOf(`make made get got take took taken use used go goes went gone come came put give gave given need want like way thing
	time times part other others same new old all every each else more most less least own out up down over after before during between
	say said tell told think know see look seem happen work good well right first last next second two three lot kind sort actually
	everything nothing really current currently now today yesterday once always never`)

func setOf(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for _, term := range Of(words) {
			all[term] = true
		}
		return all
	})
}
