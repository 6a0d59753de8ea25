package words

import (
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/internal/terms"
)

func vectorOf(text string) (v Vector) {
	for _, term := range terms.Of(text) {
		v.Add([]byte(term))
	}
	return v
}

// Two texts that say the same in different words must be nearer to each other than to a text about something else.
func TestTextsOfOneMeaningAreNear(t *testing.T) {
	for _, c := range [][3]string{
		{"erase the folder", "remove a directory", "play a song"},
		{"the ship sinks in the ocean", "a boat on the sea", "compile the source code"},
		{"the physician visits a patient", "doctors in a hospital", "a thread waits for a lock"},
	} {
		v, same, other := vectorOf(c[0]), vectorOf(c[1]), vectorOf(c[2])
		if near, far := v.Cosine(&same), v.Cosine(&other); near <= far {
			t.Errorf("%q: %.2f to %q, %.2f to %q", c[0], near, c[1], far, c[2])
		}
	}
	var none Vector
	v := vectorOf("folder")
	if got := v.Cosine(&none); got != 0 {
		t.Error(got)
	}
}

func TestNeighboursMayStandForATerm(t *testing.T) {
	var all []string
	for other, share := range Neighbours(terms.Of("boat")[0]) {
		all = append(all, other)
		if share <= 0 || share > 1 || other == "boat" {
			t.Error(other, share)
		}
	}
	if !strings.Contains(strings.Join(all, " "), "yacht") {
		t.Error(all)
	}
	for other := range Neighbours("qzqzqz") {
		t.Error(other)
	}
}
