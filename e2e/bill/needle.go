package main

import (
	"fmt"
	"strings"
)

// A needle is a detail that a session mentions once, for example a path, and that a later turn may need word for word.
type needle struct {
	kind string
	at   place
	// `text` is the sentence or line with the needle. `key` is the part of `text` that must not be lost.
	text, key string
}

// These are the kinds of needles. Each turn mentions one needle, and the kinds follow each other in this order.
const (
	ofPath     = "path"
	ofNumber   = "number"
	ofDecision = "decision"
	ofError    = "error text"
	ofRule     = "rule of the user"
)

var needleKinds = [...]string{ofPath, ofNumber, ofDecision, ofError, ofRule}

// OpenCode gives its summariser only the beginning of an output. So the needle of an output is in one of the first
// lines, where OpenCode's summariser can see it, too.
const errorLine = 8

// needle returns the needle of a turn. A rule is in the user's prompt, an error is in the output of the second call,
// and all other needles are in texts of the model.
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

// withNeedle appends the needle of the turn to text, if the needle belongs to place p. It appends no error, because an
// error is in the output of a call.
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
