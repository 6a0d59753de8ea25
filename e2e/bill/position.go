package main

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
)

var (
	namedInText = regexp.MustCompile(`\bTurn (\d+)(?:, step (\d+)|( is done))?`)
	namedInCall = regexp.MustCompile(`^toolu_turn(\d+)_step(\d+)$`)
)

// The function `position` finds out which turn and step the story has reached. It looks for the newest message that
// contains a place, for example "Turn 12, step 4". It has to look at several messages, because some contain no place,
// for example "continue" or a tool result, and older ones may be gone. If no message contains a place, the second
// result is false.
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

// A request for a summary contains the whole conversation in one block, so a block may contain many places.
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
		// A missing part does not parse, and stays 0.
		turn, _ := strconv.Atoi(m[1])
		step, _ := strconv.Atoi(m[2])
		if len(m) > 3 && m[3] != "" {
			step = done
		}
		places = append(places, place{turn, step})
	}
	return places
}
