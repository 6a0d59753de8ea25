package tool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxRange bounds each range and the sum of all ranges of a call.
const maxRange = 1000

// parseTags reads a list of tags and ranges of tags, for example "3,7,12-15". It ignores section signs, and returns
// each tag once, in ascending order.
func parseTags(text string) ([]int, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "§", ""))
	if text == "" {
		return nil, errors.New("it is empty")
	}
	seen := make(map[int]bool)
	for segment := range strings.SplitSeq(text, ",") {
		segment = strings.TrimSpace(segment)
		from, to, err := parseSegment(segment)
		if err != nil {
			return nil, err
		}
		for i := range to - from + 1 { // from+i cannot overflow, but a loop variable that is incremented beyond `to` could
			seen[from+i] = true
		}
		if len(seen) > maxRange {
			return nil, fmt.Errorf("it names more than %d tags", maxRange)
		}
	}
	tags := make([]int, 0, len(seen))
	for n := range seen {
		tags = append(tags, n)
	}
	slices.Sort(tags)
	return tags, nil
}

func parseSegment(segment string) (from, to int, err error) {
	first, second, isRange := strings.Cut(segment, "-")
	if from, err = parseTag(first, segment); err != nil {
		return 0, 0, err
	}
	if !isRange {
		return from, from, nil
	}
	if to, err = parseTag(second, segment); err != nil {
		return 0, 0, err
	}
	if from > to {
		return 0, 0, fmt.Errorf("%q runs backwards", segment)
	}
	if to-from >= maxRange {
		return 0, 0, fmt.Errorf("%q names more than %d tags", segment, maxRange)
	}
	return from, to, nil
}

func parseTag(text, segment string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is neither a tag nor a range", segment)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%q is too large", segment)
	}
	return n, nil
}
