package main

import (
	"fmt"
	"strings"
)

// A needle is a detail that the story tells once, for example a path. A later turn may need its exact text.
type needle struct {
	kind string
	at   place
	// text is the sentence or line that tells the needle. key is its part that has to survive.
	text, key string
}

// The kinds of needles. Each turn tells one, in this order.
const (
	ofPath     = "path"
	ofNumber   = "number"
	ofDecision = "decision"
	ofError    = "error text"
	ofRule     = "rule of the user"
)

var needleKinds = [...]string{ofPath, ofNumber, ofDecision, ofError, ofRule}

// OpenCode shows its summariser only the beginning of an output, so the line with the error is near the
// beginning of its file.
const errorLine = 8

// The story tells rules in the prompt, errors in the output of the second call, and all other needles in the
// model's texts.
func (s story) needle(turn int) needle {
	n := needle{kind: needleKinds[turn%len(needleKinds)]}
	switch n.kind {
	case ofPath:
		n.at = place{turn, 3}
		n.key = fmt.Sprintf("records/ward-%03d/weights.toml", turn)
		n.text = fmt.Sprintf("The weights of this ward stand in %s now.", n.key)
	case ofNumber:
		n.at = place{turn, done}
		n.key = fmt.Sprintf("%d%03d sacks", 10+turn*7%83, turn)
		n.text = fmt.Sprintf("The granary of this ward holds %s.", n.key)
	case ofDecision:
		n.at = place{turn, 4}
		n.key = fmt.Sprintf("keeps the brass scales of ward-%03d", turn)
		n.text = fmt.Sprintf("Decision: the parish %s, because iron ones rust.", n.key)
	case ofError:
		n.at = place{turn, 2}
		n.key = fmt.Sprintf("error: sheet %03d has no seal", turn)
		n.text = fmt.Sprintf("%s (E4%03d)", n.key, turn)
	case ofRule:
		n.at = place{turn, 0}
		n.key = fmt.Sprintf("never weigh the seed of ward-%03d before noon", turn)
		n.text = fmt.Sprintf("From now on %s.", n.key)
	}
	return n
}

// If the story tells the turn's needle in this text, withNeedle adds the needle.
func (s story) withNeedle(p place, text string) string {
	if n := s.needle(p.turn); n.at == p && n.kind != ofError {
		return text + " " + n.text
	}
	return text
}

func (s story) needlesBefore(p place) (all []needle) {
	for turn := 1; turn <= p.turn; turn++ {
		if n := s.needle(turn); n.at.isBefore(p) || n.at == p {
			all = append(all, n)
		}
	}
	return all
}

func (n needle) isIn(text string) bool { return strings.Contains(text, n.key) }
