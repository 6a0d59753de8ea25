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

// position returns the place in the story that a conversation has reached, or false if no message names one.
// The newest message that names a place decides: older ones may be compacted, dropped or summarised. Newer ones
// ("continue") and tool results name no place.
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

// A request for a summary holds the whole conversation in one block.
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
