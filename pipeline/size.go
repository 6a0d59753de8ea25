package pipeline

import (
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/pipeline/transcript"
)

// A Size is how large the next prompt is going to be, in tokens.
type Size struct {
	// Measurement identifies the usage that was reported last, Measured is the
	// prompt that it was about; empty and 0 for none.
	Measurement string
	Measured    int
	// Current is that prompt, plus what came after it by the host's count, less
	// what a bust has freed of it meanwhile.
	Current int
	// Overhead is meant for what of the prompt is no unit (system prompt and
	// tools), and not filled yet.
	Overhead int
}

// size reads the size off the transcript and not off events, so that a
// restarted host knows the same. Where the provider reports nothing, the host's
// own count has to do.
func (s *Session) size() Size {
	var size Size
	answered := false
	tail := 0
	i := len(s.entries) - 1
	for ; i >= 0; i-- {
		e := &s.entries[i]
		tail += s.tokensOf(e)
		if e.head.role != transcript.Assistant {
			continue
		}
		answered = answered || e.head.finish != ""
		if n := e.head.usage.Prompt(); n > 0 {
			size.Measurement, size.Measured, size.Current = e.head.key+"/"+strconv.Itoa(n), n, n+tail
			break
		}
	}
	if size.Measured == 0 {
		if answered {
			size.Current = tail
		}
		return size
	}
	if ep := &s.Meta.Episode; ep.ReliefOf == size.Measurement {
		size.Current = max(0, size.Current-ep.Relief)
	}
	return size
}

// tokensOf is what the active units of a message weigh.
func (s *Session) tokensOf(e *entry) int {
	n := 0
	for _, it := range e.items {
		if u := s.State.ByTag(it.Tag); u != nil {
			n += u.Left()
		}
	}
	return n
}

// growthSteps bounds how many steps of the model the growth is read from.
const growthSteps = 20

// growth returns by how many tokens a step lets the prompt grow, the median of
// the newest steps that reported it; at least 1.
func (s *Session) growth() int {
	var deltas []int
	later := 0
	for _, e := range slices.Backward(s.entries) {
		n := e.head.usage.Prompt()
		if e.head.role != transcript.Assistant || n == 0 {
			continue
		}
		if later > n {
			deltas = append(deltas, later-n)
		}
		if later = n; len(deltas) == growthSteps {
			break
		}
	}
	if len(deltas) == 0 {
		return 1
	}
	slices.Sort(deltas)
	return max(1, deltas[len(deltas)/2])
}
