package main

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/internal/mockllm"
)

var (
	namedInText = regexp.MustCompile(`\bTurn (\d+)(?:, step (\d+)|( is done))?`)
	namedInCall = regexp.MustCompile(`^toolu_turn(\d+)_step(\d+)$`)
)

// position returns how far a conversation has come, and whether it says so. The
// newest message that names a place decides: what is older may have been
// compacted, dropped or summarised, and what is newer ("continue") is not of
// the story. Tool results are not read, they name nothing.
func position(messages []mockllm.Message) (place, bool) {
	for _, m := range slices.Backward(messages) {
		var newest place
		for _, c := range m.Content {
			for _, p := range named(c) {
				if newest.isBefore(p) {
					newest = p
				}
			}
		}
		if newest != (place{}) {
			return newest, true
		}
	}
	return place{}, false
}

// named returns the places that a block names. A request for a summary is one
// block with the whole conversation in it.
func named(c mockllm.Content) (places []place) {
	pattern, in := namedInText, c.Text
	switch c.Type {
	case "tool_use":
		pattern, in = namedInCall, c.ID
	case "text":
	default:
		return nil
	}
	for _, m := range pattern.FindAllStringSubmatch(in, -1) {
		// What does not parse was not given, and is 0.
		turn, _ := strconv.Atoi(m[1])
		step, _ := strconv.Atoi(m[2])
		if len(m) > 3 && m[3] != "" {
			step = done
		}
		places = append(places, place{turn, step})
	}
	return places
}
