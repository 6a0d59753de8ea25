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

// bandSeparator begins a band of importance in the file of examples.
const bandSeparator = "=== band "

// shownExamples is how many examples a prompt shows. Each example is from a different band.
const shownExamples = 4

// bands returns the examples by band of importance, highest band first.
var bands = sync.OnceValue(func() [][]string {
	var all [][]string
	for _, section := range strings.Split(exampleFile, bandSeparator)[1:] {
		_, body, _ := strings.Cut(section, "\n")
		all = append(all, strings.Split(strings.TrimSpace(body), "\n\n"))
	}
	return all
})

// examples returns examples for calibration: compartments of invented projects that show which content deserves which
// importance. The choice depends on session and chunk. So a repeated run sees the same examples, and other runs see
// other examples.
func examples(session string, chunkStart int) string {
	h := fnv.New32a()
	h.Write([]byte(session + ":" + strconv.Itoa(chunkStart)))
	chosen := chooseExamples(uint64(h.Sum32()), bands())
	return "Compartments of other projects, as examples of tiers and importance. Take no content from them.\n\n" +
		"<compartment_examples_from_other_projects>\n" + strings.Join(chosen, "\n") + "\n</compartment_examples_from_other_projects>"
}

// chooseExamples takes examples from the bands in turn, beginning with band number hash mod 5.
func chooseExamples(hash uint64, bands [][]string) []string {
	var chosen []string
	for pick := range uint64(shownExamples) {
		band := bands[(hash+pick)%uint64(len(bands))]
		chosen = append(chosen, band[(hash+pick)%uint64(len(band))])
	}
	return chosen
}
