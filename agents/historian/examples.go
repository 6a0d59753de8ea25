package historian

import (
	_ "embed"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
)

//go:embed prompts/examples.v2.txt
var exampleFile string

const bandSeparator = "=== band "

// Each shown example is from a different band.
const shownExamples = 4

var bands = sync.OnceValue(func() [][]string {
	var all [][]string
	for _, section := range strings.Split(exampleFile, bandSeparator)[1:] {
		_, body, _ := strings.Cut(section, "\n")
		all = append(all, strings.Split(strings.TrimSpace(body), "\n\n"))
	}
	return all
})

// examples returns compartments of invented projects, which show the model how important different content is. A
// repeated run with the same session and chunkStart gets the same examples.
func examples(session string, chunkStart int) string {
	h := fnv.New32a()
	h.Write([]byte(session + ":" + strconv.Itoa(chunkStart)))
	chosen := chooseExamples(uint64(h.Sum32()), bands())
	return "Compartments of other projects, as examples of tiers and importance. Take no content from them.\n\n" +
		"<compartment_examples_from_other_projects>\n" + strings.Join(chosen, "\n") + "\n</compartment_examples_from_other_projects>"
}

// The first band is the one with the number `hash` mod 5.
func chooseExamples(hash uint64, bands [][]string) []string {
	var chosen []string
	for pick := range uint64(shownExamples) {
		band := bands[(hash+pick)%uint64(len(bands))]
		chosen = append(chosen, band[(hash+pick)%uint64(len(band))])
	}
	return chosen
}
