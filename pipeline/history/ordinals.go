package history

import "github.com/magicctx/magicctx-host/pipeline/transcript"

// An Entry is one message of the harness's array, as Number needs it.
type Entry struct {
	// Key is empty if the message could not be read.
	Key string
	// IsSummary says that the harness itself made the message as a summary of the
	// session. Such a message has no ordinal.
	IsSummary bool
}

// IsSummary reports whether the harness made the message as a summary of the session.
// An answer must have ended: an unfinished or failed one may still change its kind.
func IsSummary(m *transcript.Message) bool {
	return m.Summary && (m.Role == transcript.User || m.Finish == transcript.EndsTurn)
}

// A CoveredEnd is the last message that a compartment covers. It is zero if the session
// has no compartment.
type CoveredEnd struct {
	Ordinal int
	Key     string
}

// Number gives each message of the harness's array its ordinal, 0 for none. It also
// returns the number of messages that the session has so far, which is the ordinal of
// the newest message.
//
// Without a compartment the array begins with ordinal 1. With a compartment, the array
// may begin anywhere up to the covered end, for example because of a compaction marker.
// The message at the covered end keeps its known ordinal, the messages after it continue
// from there, and the messages before it get none. If the array does not contain the
// message at the covered end, ok is false, and the caller has to read the history from
// the harness's own store.
//
// An unreadable message keeps its place, so that the ordinals after it stay the same
// when the message becomes readable. A summary of the harness has no place.
func Number(array []Entry, covered CoveredEnd) (ordinals []int, total int, ok bool) {
	first, next := 0, 1
	if covered.Ordinal > 0 {
		first, next = indexOf(array, covered.Key), covered.Ordinal
	}
	if first < 0 || len(array) == 0 {
		return nil, 0, false
	}
	ordinals = make([]int, len(array))
	for i := first; i < len(array); i++ {
		if array[i].IsSummary {
			continue
		}
		if array[i].Key != "" {
			ordinals[i] = next
		}
		next++
	}
	return ordinals, next - 1, true
}

func indexOf(array []Entry, key string) int {
	for i := range array {
		if key != "" && array[i].Key == key {
			return i
		}
	}
	return -1
}
